// The camera of a desktop. On a phone, the file input opens the camera.

import { el } from "./dom.js";

export const hasCamera = Boolean(navigator.mediaDevices?.getUserMedia);

/** Returns the picture as a file, or null when cancelled. Throws an error when there is no camera. */
export async function takePicture() {
  let stream;
  try {
    stream = await navigator.mediaDevices.getUserMedia({ video: { width: { ideal: 1920 }, facingMode: "environment" } });
  } catch (error) {
    throw new Error(ERRORS[error.name] ?? "Cannot use the camera.");
  }
  try {
    return await shoot(stream);
  } finally {
    stream.getTracks().forEach((track) => track.stop());
  }
}

function shoot(stream) {
  return new Promise((resolve) => {
    const video = el("video", { autoplay: true, playsinline: true, "aria-label": "Camera preview" });
    video.muted = true;
    video.srcObject = stream;
    const take = el("button", { class: "primary", type: "button", disabled: true }, "Take picture");
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

const ERRORS = {
  NotAllowedError: "The browser blocks the camera on this page.",
  NotFoundError: "No camera found.",
  NotReadableError: "Another program is using the camera.",
};
