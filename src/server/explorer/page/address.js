// Addresses that somebody has typed, pasted or cut off.

/** What an encoded part says; what is no encoding of anything is taken as it stands. */
export function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The URL; null when it is none. */
export function urlOf(text) {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}
