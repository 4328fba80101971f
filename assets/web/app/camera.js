// A picture from the camera of a desktop; a phone has a camera of its own behind the file field.

import { el } from "./dom.js";

export const hasCamera = Boolean(navigator.mediaDevices?.getUserMedia);

/** A picture as a file, or nothing when it was given up; throws a sentence when there is no camera. */
export async function takePicture() {
  let stream;
  try {
    stream = await navigator.mediaDevices.getUserMedia({ video: { width: { ideal: 1920 }, facingMode: "environment" } });
  } catch (error) {
    throw new Error(WORDS[error.name] ?? "The camera cannot be used.");
  }
  try {
    return await shoot(stream);
  } finally {
    stream.getTracks().forEach((track) => track.stop());
  }
}

function shoot(stream) {
  return new Promise((resolve) => {
    const video = el("video", { autoplay: true, playsinline: true, "aria-label": "What the camera sees" });
    video.muted = true;
    video.srcObject = stream;
    const take = el("button", { class: "primary", type: "button", disabled: true }, "Take the picture");
    const cancel = el("button", { class: "plain", type: "button", on: { click: () => dialog.close() } }, "Cancel");
    const dialog = el(
      "dialog",
      { class: "question camera", "aria-label": "Camera" },
      el("form", { method: "dialog" }, el("div", { class: "content" }, video), el("footer", {}, cancel, take)),
    );
    let picture = null;
    video.addEventListener("playing", () => ((take.disabled = false), take.focus()), { once: true });
    take.addEventListener("click", async () => {
      take.disabled = true;
      picture = await still(video);
      dialog.close();
    });
    dialog.addEventListener("close", () => (dialog.remove(), resolve(picture)));
    document.body.append(dialog);
    dialog.showModal();
  });
}

function still(video) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
  canvas.getContext("2d").drawImage(video, 0, 0);
  return new Promise((resolve) =>
    canvas.toBlob((blob) => resolve(blob && new File([blob], "camera.jpg", { type: blob.type })), "image/jpeg", 0.9),
  );
}

const WORDS = {
  NotAllowedError: "The browser does not allow the camera here.",
  NotFoundError: "There is no camera.",
  NotReadableError: "Another program has the camera.",
};
