// Speaking in place of typing, where the browser offers it.

const Recognition = window.SpeechRecognition ?? window.webkitSpeechRecognition;

export const canListen = Boolean(Recognition);

/** Writes what is heard into `field` while it listens. `state(listening)` tells when that changes. */
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
      error !== "aborted" && error !== "no-speech" && this.fault(WORDS[error] ?? "Nothing could be heard.");
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

const WORDS = {
  "not-allowed": "The browser does not allow the microphone here.",
  "audio-capture": "There is no microphone.",
  network: "The browser's recognition needs the network.",
};
