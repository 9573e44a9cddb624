// Messages: how they are written, and what is asked of a queue about them.

import { service, serviceXml, queuePath } from './api.js';
import { escapeXml } from './xml.js';

/** What those who put and those who take have agreed on; the same words as --encoding of the command line. */
export const ENCODINGS = ['text', 'base64'];
export const messageEncoding = () =>
  ENCODINGS.find(name => name === localStorage.getItem('tavola.encoding')) || 'text';
export const useMessageEncoding = name => localStorage.setItem('tavola.encoding', name);

const bytesOf = base64 => Uint8Array.from(atob(base64), c => c.charCodeAt(0));
const isBase64 = text =>
  text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text) && btoa(atob(text)) === text;

export const encode = (text, encoding) =>
  encoding === 'text'
    ? text
    : btoa(Array.from(new TextEncoder().encode(text), byte => String.fromCharCode(byte)).join(''));

/** What a message says: {text}, or {text, why} of one that is shown as it is stored. */
export function decode(stored, encoding) {
  if (encoding === 'text') return { text: stored };
  if (!isBase64(stored)) return { text: stored, why: 'not base64' };
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytesOf(stored));
    if (!text.includes('\0')) return { text };
  } catch {
    /* no UTF-8 */
  }
  return { text: stored, why: 'bytes, not text' };
}

/** Whether this looks as if it were written the other way: base64 of text, or no base64. */
export function looksOtherwise(stored, encoding) {
  if (encoding === 'base64') return !isBase64(stored);
  return (
    stored.length >= 8 &&
    isBase64(stored) &&
    decode(stored, 'base64').why === undefined &&
    !/[\u0000-\u0008]/.test(decode(stored, 'base64').text)
  );
}

/** Text of JSON with its lines indented; other text as it is. */
export function indented(text) {
  try {
    return /^\s*[[{]/.test(text) ? JSON.stringify(JSON.parse(text), null, 2) : text;
  } catch {
    return text;
  }
}

const messageOf = xml => ({
  id: xml.textOf('MessageId'),
  receipt: xml.textOf('PopReceipt'),
  taken: Number(xml.textOf('DequeueCount')),
  stored: xml.textOf('MessageText'),
  inserted: xml.textOf('InsertionTime'),
  expires: xml.textOf('ExpirationTime'),
  visible: xml.textOf('TimeNextVisible'),
});
const path = (queue, rest = '') => queuePath(`/${encodeURIComponent(queue)}/messages${rest}`);
const read = async (queue, query) =>
  ((await serviceXml('GET', path(queue, `?${query}`)))?.all('QueueMessage') || []).map(messageOf);
const one = (queue, message, query = '') =>
  path(queue, `/${message.id}?popreceipt=${encodeURIComponent(message.receipt)}${query}`);

/** What is visible first, without taking it. */
export const peek = (queue, count) => read(queue, `peekonly=true&numofmessages=${count}`);

/** Take messages: nobody else sees them for `hidden` seconds. */
export const dequeue = (queue, count, hidden) =>
  read(queue, `numofmessages=${count}&visibilitytimeout=${hidden}`);

/** `stored`: as it is to be stored; `ttl` in seconds, '' for the service's 7 days. */
export const putMessage = (queue, stored, { hidden = 0, ttl = '' } = {}) =>
  service(
    'POST',
    path(queue, `?visibilitytimeout=${hidden}${ttl === '' ? '' : `&messagettl=${ttl}`}`),
    {
      body: `<QueueMessage><MessageText>${escapeXml(stored)}</MessageText></QueueMessage>`,
      headers: { 'content-type': 'application/xml' },
    },
  );

export const deleteMessage = (queue, message) => service('DELETE', one(queue, message));

/** A message that was taken is there for others at once. */
export const putBack = (queue, message) =>
  service('PUT', one(queue, message, '&visibilitytimeout=0'));

export const clearMessages = queue => service('DELETE', path(queue));

/** What a program has given up on goes to another queue: put there first, then taken out.  How many. */
export async function moveAll(queue, to) {
  let moved = 0;
  for (let list; (list = await dequeue(queue, 32, 60)).length > 0; ) {
    for (const message of list) {
      await putMessage(to, message.stored);
      await deleteMessage(queue, message);
      moved++;
    }
  }
  return moved;
}
