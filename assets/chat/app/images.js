// Attached images: pasted, dropped, selected or taken with the camera, and scaled down.

/** Longest side in pixels. Models scale larger images down. */
const MAX_SIDE = 2000;
/** A larger image is stored as JPEG, in bytes. */
const MAX_BYTES = 3_000_000;
const KINDS = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** The data URL of an image from a model or a tool; null for an unsupported type. */
export function imageSource(kind, base64) {
  if (!KINDS.includes(kind) || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64 ?? "")) return null;
  return `data:${kind};base64,${base64}`;
}

/** The data URL of an attachment of a message; null if it is no image. */
export function sourceOf({ kind, mimeType, content }) {
  return kind === "image" ? imageSource(mimeType, content) : null;
}

/** The images of a paste or drop. */
export function filesOf(transfer) {
  return [...(transfer?.files ?? [])].filter((file) => file.type.startsWith("image/"));
}

/** `{data, url, name}` of a file, scaled down if it is large. Throws if it is not an image. */
export async function picture(file) {
  let bitmap;
  try {
    bitmap = await createImageBitmap(file);
  } catch {
    throw new Error(`Cannot read ${file.name || "the file"} as an image.`);
  }
  const scale = Math.min(1, MAX_SIDE / Math.max(bitmap.width, bitmap.height));
  const small = scale === 1 && KINDS.includes(file.type) && file.size < MAX_BYTES;
  let blob = small ? file : await scaled(bitmap, scale, file.type);
  if (blob.size > MAX_BYTES) blob = await scaled(bitmap, scale, "image/jpeg");
  bitmap.close();
  const url = await dataUrl(blob);
  return { data: url.slice(url.indexOf(",") + 1), url, name: file.name || "picture" };
}

async function scaled(bitmap, scale, kind) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  const target = kind === "image/png" ? "image/png" : "image/jpeg";
  return new Promise((resolve) => canvas.toBlob(resolve, target, 0.88));
}

function dataUrl(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(new Error("Cannot read the image."));
    reader.readAsDataURL(blob);
  });
}
