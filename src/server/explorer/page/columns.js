// The columns of a grid: of what has been seen, keys first, Timestamp last, as somebody has arranged
// them.  Order, widths and what is hidden are kept for each table in this browser.

import { h, put, say, dialog, count } from './dom.js';
import { TYPES } from './values.js';

const WIDTH_MIN = 60,
  WIDTH_MAX = 1200;
const KEYS = ['PartitionKey', 'RowKey'];
const DRAG_BEGINS = 5; // pixels

const kept = (name, otherwise) => {
  try {
    return JSON.parse(localStorage.getItem(name)) ?? otherwise;
  } catch {
    return otherwise;
  }
};

export class Columns {
  /** `shared`: names that an address asks for, in order; all others are hidden then. */
  constructor(table, shared) {
    this.store = `tavola.columns.${table}`;
    this.seen = new Map(KEYS.map(name => [name, new Map([['Edm.String', 0]])]));
    this.longest = KEYS.map(() => 0); // of the values of both keys, in characters
    const stored = kept(this.store, {});
    const {
      hidden = [],
      order = [],
      widths = {},
    } = Array.isArray(stored) ? { hidden: stored } : stored;
    Object.assign(this, {
      hidden: new Set(hidden),
      order,
      widths: new Map(Object.entries(widths)),
      only: shared?.length ? new Set(shared) : null,
    });
    if (this.only) this.order = shared;
  }

  keep() {
    localStorage.setItem(
      this.store,
      JSON.stringify({
        hidden: [...this.hidden],
        order: this.order,
        widths: Object.fromEntries(this.widths),
      }),
    );
  }

  /** Names that were not there before. */
  add(entities) {
    const added = [];
    for (const entity of entities) {
      [entity.partition, entity.row].forEach((key, i) => {
        this.longest[i] = Math.max(this.longest[i], key.length);
      });
      for (const [name, { type }] of entity.properties) {
        let types = this.seen.get(name);
        if (!types) {
          types = new Map();
          this.seen.set(name, types);
          if (name !== 'Timestamp') added.push(name);
        }
        types.set(type, (types.get(type) || 0) + 1);
      }
    }
    return added;
  }

  typeOf(name) {
    const types = this.seen.get(name);
    return types ? [...types].sort((a, b) => b[1] - a[1])[0][0] : undefined;
  }

  frequency(name) {
    return [...(this.seen.get(name)?.values() || [])].reduce((sum, n) => sum + n, 0);
  }

  /** All names: keys, those that were put in order, the others as they turned up, Timestamp. */
  all() {
    const names = [...this.seen.keys()].filter(name => !KEYS.includes(name)),
      placed = this.order.filter(name => names.includes(name));
    const rest = names
      .filter(name => !placed.includes(name))
      .sort((a, b) => (a === 'Timestamp') - (b === 'Timestamp'));
    return [...KEYS, ...placed, ...rest];
  }

  isHidden(name) {
    return !KEYS.includes(name) && (this.only ? !this.only.has(name) : this.hidden.has(name));
  }

  shown() {
    return this.all()
      .filter(name => !this.isHidden(name))
      .map((name, i) => ({
        name,
        type: this.typeOf(name),
        isMixed: this.seen.get(name).size > 1,
        width: this.widths.get(name),
        longest: this.longest[i],
      }));
  }

  types() {
    return new Map(this.all().map(name => [name, this.typeOf(name)]));
  }

  /** What an address says of them: '' while they are as they come. */
  address() {
    return this.order.length || this.only || this.hidden.size
      ? this.shown()
          .slice(2)
          .map(each => each.name)
          .join(',')
      : '';
  }

  hide(name, on) {
    if (this.only) {
      this.hidden = new Set(this.all().filter(each => this.isHidden(each)));
      this.only = null;
    }
    if (on) this.hidden.add(name);
    else this.hidden.delete(name);
    this.keep();
  }

  /** To another place among those that are shown; false when there is none. */
  move(name, to) {
    const shown = this.shown().map(each => each.name),
      from = shown.indexOf(name),
      at = Math.max(2, Math.min(to, shown.length - 1));
    if (from < 2 || at === from) return false;
    const all = this.all().filter(each => each !== name),
      before = shown.filter(each => each !== name)[at];
    all.splice(before === undefined ? all.length : all.indexOf(before), 0, name);
    this.order = all.slice(2);
    this.keep();
    return true;
  }

  resize(name, width) {
    this.widths.set(name, Math.max(WIDTH_MIN, Math.min(WIDTH_MAX, Math.round(width))));
    this.keep();
  }

  reset() {
    Object.assign(this, { hidden: new Set(), order: [], widths: new Map(), only: null });
    localStorage.removeItem(this.store);
  }
}

/** Drag the edge of a column's head to make it wider, the head itself to put it elsewhere; press it to sort by it. */
export function columnDrag(grid, head, at) {
  const column = grid.columns[at];
  const follow = (event, move, end) => {
    const begin = event.clientX,
      stop = new AbortController(),
      { signal } = stop;
    event.preventDefault();
    head.setPointerCapture(event.pointerId);
    head.addEventListener('pointermove', each => move(each.clientX - begin, each.clientX), {
      signal,
    });
    const done = each => {
      stop.abort();
      end(each.clientX - begin, each.clientX, each.type === 'pointerup');
    };
    for (const type of ['pointerup', 'pointercancel'])
      head.addEventListener(type, done, { signal });
  };
  // Which of the heads is under the pointer; the two keys stay where they are.
  const under = x => {
    const heads = [...grid.head.querySelectorAll('[data-head]')];
    const found = heads.findLastIndex(each => x >= each.getBoundingClientRect().left);
    return Math.max(2, found);
  };
  let wasMoved = false; // then it was not pressed
  head.addEventListener('click', () => {
    if (!wasMoved) grid.on.sort?.(column.name);
  });
  head.addEventListener('pointerdown', event => {
    if (event.button !== 0) return;
    wasMoved = event.target.classList.contains('rs');
    if (event.target.classList.contains('rs')) {
      const width = grid.widthOf(column);
      follow(
        event,
        by => {
          head.style.width = `${Math.max(WIDTH_MIN, width + by)}px`;
        },
        (by, x, isMeant) => {
          if (isMeant && by) grid.on.resize?.(column.name, width + by);
          else grid.refresh();
        },
      );
    } else if (at >= 2) {
      let isMoving = false;
      const mark = to =>
        grid.head.querySelectorAll('[data-head]').forEach((each, i) => {
          each.classList.toggle('before', to !== at && to < at && i === to);
          each.classList.toggle('after', to !== at && to > at && i === to);
        });
      follow(
        event,
        (by, x) => {
          isMoving ||= Math.abs(by) > DRAG_BEGINS;
          if (isMoving) {
            wasMoved = true;
            head.classList.add('moving');
            mark(under(x));
          }
        },
        (by, x, isMeant) => {
          head.classList.remove('moving');
          mark(at);
          if (isMoving && isMeant) grid.on.reorder?.(column.name, under(x));
        },
      );
    }
  });
  head
    .querySelector('.rs')
    .addEventListener('dblclick', () => grid.on.resize?.(column.name, fitting(grid, at)));
}

/** Wide enough for what is in sight of a column. */
function fitting(grid, at) {
  const cells = [
    ...grid.space.querySelectorAll(`[data-column="${at}"]`),
    grid.head.querySelector(`[data-head="${at}"] .cn`),
  ];
  return (
    Math.max(
      ...cells.map(cell => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        return range.getBoundingClientRect().width;
      }),
    ) + 46
  );
}

/** The chooser: what is shown, in which order. */
export function chooseColumns(columns, changed) {
  const list = h('ul', { class: 'plain scroll columns' });
  const draw = focus => {
    const all = columns.all();
    put(
      list,
      all.map((name, i) => {
        const isKey = i < 2;
        const step = by => {
          columns.hide(name, columns.isHidden(name));
          moveAmongAll(columns, name, i + by);
          changed();
          draw([name, by]);
          say(`${name} is column ${columns.all().indexOf(name) + 1} of ${all.length}`);
        };
        const arrow = (by, label) =>
          h(
            'button',
            {
              class: 'btn quiet small',
              disabled: isKey || i + by < 2 || i + by >= all.length,
              'aria-label': `Move ${name} ${label}`,
              'data-step': by,
              onclick: () => step(by),
            },
            by < 0 ? '↑' : '↓',
          );
        return h(
          'li',
          { class: 'row', 'data-name': name },
          h(
            'label',
            { class: 'row grow' },
            h('input', {
              type: 'checkbox',
              checked: !columns.isHidden(name),
              disabled: isKey,
              onchange: event => {
                columns.hide(name, !event.target.checked);
                changed();
              },
            }),
            h('span', { class: 'grow mono' }, name),
            h('span', { class: 'tag' }, TYPES[columns.typeOf(name)]?.name || ''),
            h('span', { class: 'muted num' }, count(columns.frequency(name))),
          ),
          arrow(-1, 'up'),
          arrow(1, 'down'),
        );
      }),
    );
    if (focus)
      (
        list.querySelector(
          `[data-name="${CSS.escape(focus[0])}"] [data-step="${focus[1]}"]:not(:disabled)`,
        ) || list.querySelector(`[data-name="${CSS.escape(focus[0])}"] [data-step]:not(:disabled)`)
      )?.focus();
  };
  draw();
  return dialog('Columns', close => [
    h('h2', null, 'Columns'),
    list,
    h(
      'div',
      { class: 'row end' },
      h(
        'button',
        {
          class: 'btn quiet',
          onclick: () => {
            columns.reset();
            changed();
            draw();
          },
        },
        'As they come',
      ),
      h('span', { class: 'grow' }),
      h('button', { class: 'btn primary', autofocus: true, onclick: () => close() }, 'Done'),
    ),
  ]);
}

function moveAmongAll(columns, name, to) {
  const all = columns.all().filter(each => each !== name);
  all.splice(to, 0, name);
  columns.order = all.slice(2);
  columns.keep();
}
