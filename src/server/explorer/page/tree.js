// The tree of names at the side.

import { h, put, sparkline, count, shortCount, shortened, plural, bytes } from './dom.js';
import { link, readRoute } from './route.js';
import { KINDS, isHidden, itemsOf, rateText, treeIsThere } from './names.js';

const SHOWN_MAX = 400; // of a group; the field above finds the others

let box = null,
  filterField = null; // both once, for all frames
const closed = new Set(['hidden']); // groups whose names are not shown
const nodes = new Map(); // key -> what is drawn of it, kept so that focus stays
const groups = new Map();
const keyOf = item => `${item.kind} ${item.name}`;

function nodeOf(item) {
  const key = keyOf(item);
  let node = nodes.get(key);
  if (!node) {
    const spark = h('span', { class: 'sp' }),
      number = h('span', { class: 'ct' });
    const a = h(
      'a',
      { class: 'node' },
      h('span', { class: 'nm' }, shortened(item.name, 34)),
      spark,
      number,
    );
    node = { row: h('li', null, a), a, spark, number, drawn: '' };
    nodes.set(key, node);
  }
  const kind = KINDS.find(each => each.id === item.kind);
  const { parts } = readRoute();
  const isCurrent =
    parts[0] === 'access'
      ? parts[1] === kind.id && parts[2] === item.name
      : [kind.letter, kind.inner].includes(parts[0]) && parts[1] === item.name;
  node.a.href = kind.id === 'table' ? link('t', item.name, 'rows') : link(kind.letter, item.name);
  if (isCurrent) node.a.setAttribute('aria-current', 'page');
  else node.a.removeAttribute('aria-current');
  const text = [
    item.name,
    item.items != null && `${item.exact ? '' : 'about '}${plural(item.items, kind.one, kind.many)}`,
    item.bytes != null && bytes(item.bytes),
    item.rate > 0 && rateText(item.rate),
  ]
    .filter(Boolean)
    .join(', ');
  if (node.drawn === text && !item.points.some(Boolean) && !node.spark.firstChild) return node;
  node.drawn = text;
  node.a.title = text;
  node.a.setAttribute('aria-label', text);
  node.number.textContent =
    item.items == null ? '' : `${item.exact ? '' : '~'}${shortCount(item.items)}`;
  put(node.spark, item.points.some(Boolean) && sparkline(item.points));
  return node;
}

function groupOf(id, title) {
  let group = groups.get(id);
  if (!group) {
    const number = h('span', { class: 'num' }),
      note = h('p', { class: 'none' }),
      list = h('ul', { id: `names-${id}` }),
      more = h('p', { class: 'none' });
    const button = h(
      'button',
      {
        class: 'grp',
        'aria-controls': `names-${id}`,
        'aria-expanded': 'true',
        onclick: () => {
          if (!closed.delete(id)) closed.add(id);
          drawTree();
        },
      },
      h('span', null, title),
      number,
    );
    group = {
      box: h('section', null, h('h2', { class: 'grph' }, button), note, list, more),
      button,
      number,
      note,
      list,
      more,
      shown: '',
    };
    groups.set(id, group);
  }
  return group;
}

function drawGroup(id, title, items, total, none, wanted) {
  const group = groupOf(id, title),
    isOpen = !closed.has(id) || (wanted !== '' && items.length > 0);
  const shown = isOpen ? items.slice(0, SHOWN_MAX).map(nodeOf) : [];
  group.button.setAttribute('aria-expanded', String(isOpen));
  group.number.textContent = count(total);
  group.note.textContent = !isOpen
    ? ''
    : !treeIsThere()
      ? 'Loading.'
      : items.length > 0
        ? ''
        : wanted
          ? 'None has this in its name.'
          : none;
  group.note.hidden = group.note.textContent === '';
  group.more.textContent =
    isOpen && items.length > SHOWN_MAX
      ? `${count(items.length - SHOWN_MAX)} more: filter by name.`
      : '';
  group.more.hidden = group.more.textContent === '';
  const key = shown.map(node => node.a.title.split(',')[0]).join('\n');
  if (key !== group.shown || group.list.childElementCount !== shown.length) {
    const focused = group.list.contains(document.activeElement) ? document.activeElement : null;
    group.list.replaceChildren(...shown.map(node => node.row));
    group.shown = key;
    if (focused) (focused.isConnected ? focused : group.button).focus({ preventScroll: true });
  }
  return group.box;
}

export function drawTree() {
  if (!box) return;
  const wanted = filterField.value.toLowerCase(),
    all = KINDS.flatMap(kind => itemsOf(kind.id));
  filterField.hidden = all.length < 12 && !wanted;
  const fits = item => item.name.toLowerCase().includes(wanted);
  const boxes = KINDS.map(kind => {
    const own = itemsOf(kind.id).filter(item => !isHidden(item.name));
    return drawGroup(kind.id, kind.title, own.filter(fits), own.length, kind.none, wanted);
  });
  const hidden = all.filter(item => isHidden(item.name));
  if (hidden.length)
    boxes.push(drawGroup('hidden', 'Hidden', hidden.filter(fits), hidden.length, '', wanted));
  // One that comes or goes leaves the others where they are, and their focus.
  for (const each of [...box.children]) if (!boxes.includes(each)) each.remove();
  boxes.forEach((each, i) => {
    if (box.children[i] !== each) box.insertBefore(each, box.children[i] || null);
  });
  const keys = new Set(all.map(keyOf));
  for (const key of nodes.keys()) if (!keys.has(key)) nodes.delete(key);
}

// Up and down go over what is shown, left and right close and open a group.
function onKey(event) {
  const stops = [...box.querySelectorAll('.grp, .node')],
    at = stops.indexOf(document.activeElement);
  if (at < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
  const isGroup = stops[at].matches('.grp');
  if (event.key === 'ArrowDown') stops[at + 1]?.focus();
  else if (event.key === 'ArrowUp') {
    if (stops[at - 1]) stops[at - 1].focus();
    else if (!filterField.hidden) filterField.focus();
  } else if (event.key === 'Home') stops[0].focus();
  else if (event.key === 'End') stops[stops.length - 1].focus();
  else if (event.key === 'ArrowLeft' && isGroup) {
    if (stops[at].getAttribute('aria-expanded') === 'true') stops[at].click();
  } else if (event.key === 'ArrowRight' && isGroup) {
    if (stops[at].getAttribute('aria-expanded') === 'false') stops[at].click();
    else stops[at + 1]?.focus();
  } else if (event.key === 'ArrowLeft') stops[at].closest('section').querySelector('.grp').focus();
  else return;
  event.preventDefault();
}

function onFilterKey(event) {
  if (event.key === 'ArrowDown') {
    event.preventDefault();
    box.querySelector('a')?.focus();
  } else if (event.key === 'Enter') box.querySelector('a')?.click();
  else if (event.key === 'Escape' && filterField.value) {
    event.preventDefault();
    filterField.value = '';
    drawTree();
  }
}

/** [the field that filters it, the tree], which is drawn again whenever something has changed. */
export function treeNodes() {
  if (!box) {
    box = h('div', { class: 'tree', id: 'tree', onkeydown: onKey });
    filterField = h('input', {
      class: 'field filter',
      type: 'search',
      placeholder: 'Filter names',
      'aria-label': 'Filter names',
      oninput: () => drawTree(),
      onkeydown: onFilterKey,
    });
    addEventListener('treechange', drawTree);
  }
  drawTree();
  return [filterField, box];
}
