// Addresses of views: #/t/NAME/rows?f=...

import { currentAccount, serverFacts } from './api.js';
import { decoded } from './address.js';

export function readRoute() {
  const [path, query] = (location.hash.slice(2) || 'start').split('?');
  return { parts: path.split('/').map(decoded), query: new URLSearchParams(query || '') };
}

export const keyOf = route => route.parts.join('/');

function hashOf(parts, query) {
  const text = query.toString();
  return `#/${parts.map(encodeURIComponent).join('/')}${text && '?'}${text}`;
}

/** The address of a view: link('t', 'People', 'rows', {f: "Age gt 3"}). */
export function link(...parts) {
  const query = typeof parts[parts.length - 1] === 'object' ? parts.pop() : {},
    facts = serverFacts();
  const given = Object.entries(query).filter(([, value]) => value !== '' && value != null);
  if (facts && currentAccount() !== facts.accounts[0].name) given.push(['a', currentAccount()]);
  return hashOf(parts, new URLSearchParams(given));
}

let wantedKey = '';

/** A view is on its way: from now on only what is under this address may change it. */
export const wantView = key => {
  wantedKey = key;
};

/** Change what the address says of this view without leaving it.  One that has been left is late. */
export function setQuery(changes, push) {
  const { parts, query } = readRoute();
  if (parts.join('/') !== wantedKey) return;
  for (const [name, value] of Object.entries(changes)) {
    if (value === '' || value == null) query.delete(name);
    else query.set(name, value);
  }
  history[push ? 'pushState' : 'replaceState'](null, '', hashOf(parts, query));
}
