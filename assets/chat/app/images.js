// Attached files: images, which are scaled down, and documents, whose text the server reads.

/** Longest side in pixels. Models scale larger images down. */
const MAX_SIDE = 2000;
/** A larger image is stored as JPEG, in bytes. */
const MAX_BYTES = 3_000_000;
/** Most bytes of a file that is no image. */
const MAX_FILE = 14 * 1024 * 1024;
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

/** The files of a paste or drop. */
export const filesOf = (transfer) => [...(transfer?.files ?? [])];

export const isImage = (file) => file.type.startsWith("image/");

/** The attachment of a file that is no image. The server replaces a document by its text if the model does not accept it. */
export async function documentOf(file) {
  const { name, size } = file;
  if (size > MAX_FILE) throw new Error(`${name} has more than ${MAX_FILE / 1024 / 1024} MB.`);
  const url = await dataUrl(file);
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const id = `attachment_${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
  const mimeType = file.type || "application/octet-stream";
  return { id, kind: "document", fileName: name, mimeType, size, content: url.split(",")[1] ?? "" };
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
    reader.onerror = () => reject(new Error("Cannot read the file."));
    reader.readAsDataURL(blob);
  });
}
