// Elements without markup.  Keys and values are other people's text: nothing here, and nothing
// in any file of this page, is ever parsed as HTML.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties || {})) {
    if (value == null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'css')
      for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
    else if (
      name === 'value' ||
      name === 'checked' ||
      name === 'disabled' ||
      name === 'indeterminate'
    )
      element[name] = value;
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children.flat(9)) {
    if (child != null && child !== false) element.append(child.nodeType ? child : String(child));
  }
  return element;
}

/** An element of HTML: h('a', { href, onclick, css: { top: '4px' } }, 'text', child, [more]). */
export const h = (tag, properties, ...children) =>
  fill(document.createElement(tag), properties, children);

/** The same of SVG. */
export const s = (tag, properties, ...children) =>
  fill(document.createElementNS(SVG, tag), properties, children);

/** Have these children and no others. */
export function put(element, ...children) {
  element.replaceChildren();
  return fill(element, null, children);
}

/** The same of what is drawn again and again: what has focus in it leaves it to what is at its place then. */
export function putAgain(element, ...children) {
  const stops = () => [...element.querySelectorAll('a, button, input, select, textarea')],
    at = stops().indexOf(document.activeElement);
  put(element, ...children);
  if (at >= 0) stops()[at]?.focus({ preventScroll: true });
}

/** A table of which each cell knows the name of its column, to say it where there is no room for a head. */
export function stacked(table) {
  const heads = [...table.querySelectorAll('thead th')].map(each =>
    each.querySelector('.sr') ? '' : each.textContent,
  );
  for (const row of table.querySelectorAll('tbody tr'))
    [...row.cells].forEach((cell, i) => {
      if (heads[i] && cell.colSpan === 1) cell.dataset.name = heads[i];
    });
  return table;
}

// --- numbers and times as people read them ---

export const count = number => Math.round(number).toLocaleString('en-US');

/** From a million on in short: "2.1 M". */
export function shortCount(number) {
  if (number < 1e6) return count(number);
  return number < 1e9 ? `${(number / 1e6).toFixed(1)} M` : `${(number / 1e9).toFixed(1)} G`;
}

export function bytes(number) {
  if (number < 1000) return `${number} B`;
  if (number < 1e6) return `${(number / 1e3).toFixed(1)} kB`;
  return number < 1e9 ? `${(number / 1e6).toFixed(1)} MB` : `${(number / 1e9).toFixed(2)} GB`;
}

/** "1 entity", "2 entities". */
export const plural = (number, one, many) =>
  `${count(number)} ${number === 1 ? one : many || one + 's'}`;

export const percent = share =>
  `${share >= 0.0995 || share === 0 ? Math.round(share * 100) : (share * 100).toFixed(1)} %`;

export const milliseconds = ms =>
  ms === 0
    ? '0 ms'
    : ms < 0.01
      ? 'less than 0.01 ms'
      : ms < 10
        ? `${ms.toFixed(2)} ms`
        : ms < 10000
          ? `${Math.round(ms)} ms`
          : `${(ms / 1000).toFixed(1)} s`;

let localTimes; // undefined: not looked for yet
export const timesAreLocal = () =>
  (localTimes ??= localStorage.getItem('tavola.times') === 'local');
export function showLocalTimes(on) {
  localTimes = on;
  localStorage.setItem('tavola.times', on ? 'local' : 'utc');
}

/** An instant of the service (seven digits) as "2026-11-15 14:58:02.117". */
export function instant(text) {
  const parsed = new Date(text.replace(/(\.\d{3})\d*Z$/, '$1Z'));
  if (Number.isNaN(parsed.getTime())) return text;
  if (!timesAreLocal())
    return parsed
      .toISOString()
      .replace('T', ' ')
      .replace('Z', '')
      .replace(/\.000$/, '');
  const pad = (number, size = 2) => String(number).padStart(size, '0');
  return (
    `${parsed.getFullYear()}-${pad(parsed.getMonth() + 1)}-${pad(parsed.getDate())} ` +
    `${pad(parsed.getHours())}:${pad(parsed.getMinutes())}:${pad(parsed.getSeconds())}` +
    (parsed.getMilliseconds() ? `.${pad(parsed.getMilliseconds(), 3)}` : '')
  );
}

/** What has no width to show: control characters as their pictures, nothing as "". */
export function visible(text) {
  if (text === '') return '""';
  return text.replace(/[\u0000-\u001f]/g, c => String.fromCharCode(0x2400 + c.charCodeAt(0)));
}

/** With an ellipsis in the middle, where names differ least. */
export function shortened(text, most) {
  if (text.length <= most) return text;
  const head = Math.ceil((most - 1) * 0.6);
  return `${text.slice(0, head)}…${text.slice(text.length - (most - 1 - head))}`;
}

// --- pictures ---

const PATHS = {
  close: 'M4 4l8 8M12 4l-8 8',
  copy: 'M5.5 5.5h7v7h-7zM3.5 10.5v-7h7',
  down: 'M4 6l4 4 4-4',
  right: 'M6 4l4 4-4 4',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  sun: 'M8 5.2a2.8 2.8 0 100 5.6 2.8 2.8 0 000-5.6M8 1.5v1.4M8 13.1v1.4M1.5 8h1.4M13.1 8h1.4M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1',
  key: 'M6 10a3 3 0 110-4 3 3 0 010 4M7 8h7v2.5M11.5 8v2',
  pulse: 'M1.5 8.5h3l2-5 3 9 2-4h3',
  bulb: 'M6 12.5h4M6.5 14.5h3M8 1.8a4.3 4.3 0 00-2.4 7.8c.4.4.6.9.6 1.4h3.6c0-.5.2-1 .6-1.4A4.3 4.3 0 008 1.8',
  home: 'M2.5 7.5L8 3l5.5 4.5M4 6.8v6.2h8V6.8',
  plus: 'M8 3v10M3 8h10',
  pin: 'M5 2.5h6l-1 4 2 2.5H4l2-2.5zM8 9v5',
  check: 'M3 8.5l3.2 3L13 4.5',
  leave: 'M9.5 2.5H3v11h6.5M6.5 8h7M11 5.5L13.5 8 11 10.5',
  folder: 'M2 4h4.5L8 5.8h6v7H2z',
  file: 'M4 2h5l3 3v9H4zM9 2v3h3',
  bin: 'M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.6 9h5.8l.6-9',
};

export const icon = (name, size = 16) =>
  s(
    'svg',
    {
      width: size,
      height: size,
      viewBox: '0 0 16 16',
      'aria-hidden': 'true',
      fill: 'none',
      stroke: 'currentColor',
      'stroke-width': 1.4,
      'stroke-linecap': 'round',
      'stroke-linejoin': 'round',
    },
    s('path', { d: PATHS[name] }),
  );

/** A line of a few values, without axes. */
export function sparkline(values, width = 44, height = 14) {
  const most = Math.max(...values, 1);
  const path = values
    .map(
      (value, i) =>
        `${i ? 'L' : 'M'}${((i * width) / Math.max(values.length - 1, 1)).toFixed(1)} ${(height - 1.5 - (value / most) * (height - 3)).toFixed(1)}`,
    )
    .join('');
  return s(
    'svg',
    { width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' },
    s('path', {
      d: path,
      fill: 'none',
      stroke: 'currentColor',
      'stroke-width': 1.25,
      'stroke-linejoin': 'round',
    }),
  );
}

/** The four ways to read a table, with the guide's words and the colours of each. */
export const PLANS = {
  point: { css: 'point', word: 'Point query' },
  range: { css: 'range', word: 'Range query' },
  partition: { css: 'part', word: 'Partition scan' },
  table: { css: 'table', word: 'Table scan' },
  none: { css: 'none', word: 'Reads nothing' },
  all: { css: 'none', word: 'Whole table' },
};

/** The key space as a line, and what a plan reads of it: shape says it, colour repeats it. */
export function glyph(plan) {
  const css = PLANS[plan] ? PLANS[plan].css : 'none';
  const block = {
    point: [12, 2],
    range: [9, 8],
    partition: [5, 14],
    table: [1, 24],
    all: [1, 24],
    none: null,
  }[plan];
  return s(
    'svg',
    { class: 'glyph', width: 26, height: 12, viewBox: '0 0 26 12', 'aria-hidden': 'true' },
    s('path', { d: 'M1 6h24', stroke: 'currentColor', opacity: 0.45 }),
    block &&
      s('rect', {
        x: block[0],
        y: plan === 'point' ? 1 : 3,
        width: block[1],
        height: plan === 'point' ? 10 : 6,
        rx: 1,
        class: `fill-${css}`,
      }),
  );
}

// --- what a view says ---

/** For those who listen. */
export function say(text) {
  document.getElementById('spoken').textContent = text;
}

let toastTimer;

/** One line at the bottom, until the next one or a while; with `undo`, a button for a minute. */
export function toast(text, undo) {
  document.querySelector('.toast')?.remove();
  clearTimeout(toastTimer);
  const box = h(
    'div',
    { class: 'toast', role: 'status' },
    h('span', null, text),
    undo &&
      h(
        'button',
        {
          onclick: () => {
            box.remove();
            undo();
          },
        },
        'Undo',
      ),
  );
  document.body.append(box);
  toastTimer = setTimeout(() => box.remove(), undo ? 60000 : 3000);
  toast.undo = undo || null;
  return box;
}

/** Copy, or select the text where the clipboard is refused. */
export async function copy(text, what, from) {
  try {
    await navigator.clipboard.writeText(text);
    toast(`${what} copied`);
  } catch {
    if (from) getSelection().selectAllChildren(from);
    toast(`The browser does not let the page copy: press Ctrl C.`);
  }
}

export const copyButton = (text, what, label = `Copy ${what}`) =>
  h(
    'button',
    {
      class: 'btn quiet small',
      'aria-label': label,
      title: label,
      onclick: event =>
        copy(typeof text === 'function' ? text() : text, what, event.target.closest('.copied')),
    },
    icon('copy'),
  );

const dialogs = new Set(); // that are open: {address, leave()}

/** Close those that were opened over another view than the one that the address names now. */
export function closeLeftDialogs() {
  for (const each of [...dialogs]) if (each.address !== location.hash) each.leave();
}

/**
 * A dialog over the page: focus stays in it and comes back; Escape leaves it, and so does going to
 * another view.  `build(close)` gives its content.  Resolves with what close() was called with.
 */
export function dialog(label, build, wide) {
  const before = document.activeElement;
  return new Promise(resolve => {
    const end = result => {
      dialogs.delete(entry);
      box.close();
      box.remove();
      resolve(result);
    };
    const close = result => {
      end(result);
      (before?.isConnected ? before : document.getElementById('main'))?.focus(); // what is drawn again may have lost it
    };
    const entry = { address: location.hash, leave: () => end(undefined) };
    dialogs.add(entry);
    const box = h('dialog', { class: wide ? 'dlg wide' : 'dlg', 'aria-label': label });
    box.addEventListener('cancel', event => {
      event.preventDefault();
      close(undefined);
    });
    fill(box, null, [build(close)]);
    document.body.append(box);
    box.showModal();
  });
}

/** A question with two answers; true when the act is wanted. */
export const ask = (question, act, detail) =>
  dialog(question, close =>
    h(
      'form',
      {
        method: 'dialog',
        onsubmit: event => {
          event.preventDefault();
          close(true);
        },
      },
      h('h2', null, question),
      detail && h('p', { class: 'soft' }, detail),
      h(
        'div',
        { class: 'row end' },
        h('button', { type: 'button', class: 'btn', onclick: () => close(false) }, 'Cancel'),
        h('button', { type: 'submit', class: 'btn danger', autofocus: true }, act),
      ),
    ),
  );
