// A file for whoever sits before the browser.

import { h } from './dom.js';

/** After that nobody saves a file of the browser's own any more. */
export const LEFT_OVER_MS = 3600_000;

/** Let the browser save a file, or parts of one. */
export function save(what, name, type = 'application/octet-stream') {
  const url = URL.createObjectURL(what instanceof Blob ? what : new Blob(what, { type }));
  const a = h('a', { href: url, download: name });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), LEFT_OVER_MS);
}
