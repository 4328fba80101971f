// Dictation, if the browser supports it.

const Recognition = window.SpeechRecognition ?? window.webkitSpeechRecognition;

export const canListen = Boolean(Recognition);

/** Writes recognized speech into `field`. Calls `state(listening)` on changes and `fault(text)` on errors. */
export class Voice {
  #recognition = null;

  constructor(field, { state, fault }) {
    Object.assign(this, { field, state, fault });
  }

  toggle() {
    if (this.#recognition) return this.#recognition.stop();
    const recognition = (this.#recognition = new Recognition());
    const before = this.field.value && `${this.field.value.trimEnd()} `;
    recognition.lang = navigator.language;
    recognition.continuous = true;
    recognition.interimResults = true;
    recognition.onresult = ({ results }) => {
      this.field.value = before + [...results].map((result) => result[0].transcript).join("");
      this.field.dispatchEvent(new Event("input"));
    };
    recognition.onerror = ({ error }) =>
      error !== "aborted" && error !== "no-speech" && this.fault(ERRORS[error] ?? "Speech recognition failed.");
    recognition.onend = () => {
      this.#recognition = null;
      this.state(false);
      this.field.focus();
    };
    recognition.start();
    this.state(true);
  }

  stop() {
    this.#recognition?.stop();
  }
}

const ERRORS = {
  "not-allowed": "The browser blocks the microphone on this page.",
  "audio-capture": "No microphone found.",
  network: "Speech recognition requires a network connection.",
};
