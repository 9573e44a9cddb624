// Entities of a table: the query bar over the grid, the key ruler beside it, the inspector.

import {
  h,
  put,
  icon,
  count,
  plural,
  milliseconds,
  say,
  toast,
  ask,
  copy,
  dialog,
  visible,
  shortened,
  timesAreLocal,
  showLocalTimes,
  bytes,
} from './dom.js';
import * as api from './api.js';
import { troubleBox } from './frame.js';
import { factsOf, refreshTree } from './names.js';
import { link, setQuery } from './route.js';
import { Pages } from './pages.js';
import { Grid } from './grid.js';
import { Columns } from './columns.js';
import { Sorted, showStatistics } from './sorted.js';
import { Ruler } from './ruler.js';
import { ladderOf } from './ladder.js';
import { QueryBar, wastes, planChip } from './queries.js';
import { TYPES, literal, binaryBytes } from './values.js';

const history = table => JSON.parse(localStorage.getItem(`tavola.history.${table}`) || '[]');
function remember(table, filter, plan) {
  const list = history(table).filter(entry => entry.filter !== filter);
  list.unshift({ filter, plan, at: Date.now() });
  localStorage.setItem(`tavola.history.${table}`, JSON.stringify(list.slice(0, 200)));
}

const ASKED = new Set(); // shapes that were let through, until the tab closes
const shapeOf = filter => filter.replace(/'(?:[^']|'')*'/g, '?').replace(/\b\d[\w.]*/g, '?');

// --- the expander: a long value whole ---

function expand(name, { type, value }) {
  let body;
  if (type === 'Edm.Binary') {
    const data = binaryBytes(value),
      lines = [];
    for (let at = 0; at < Math.min(data.length, 8192); at += 16) {
      const part = [...data.slice(at, at + 16)];
      lines.push(
        `${at.toString(16).padStart(6, '0')}  ${part
          .map(x => x.toString(16).padStart(2, '0'))
          .join(' ')
          .padEnd(
            48,
          )} ${part.map(x => (x >= 32 && x < 127 ? String.fromCharCode(x) : '.')).join('')}`,
      );
    }
    const isPicture =
      (data[0] === 0x89 && data[1] === 0x50) || (data[0] === 0xff && data[1] === 0xd8);
    const url = isPicture
      ? URL.createObjectURL(
          new Blob([data], { type: data[0] === 0x89 ? 'image/png' : 'image/jpeg' }),
        )
      : null;
    body = [
      url && h('img', { src: url, alt: name, class: 'picture' }),
      h(
        'pre',
        { class: 'whole', tabindex: '0', role: 'region', 'aria-label': name },
        lines.join('\n'),
        data.length > 8192 ? `\n… ${bytes(data.length)} in all` : '',
      ),
    ];
  } else {
    let text = value;
    try {
      const parsed = JSON.parse(value);
      if (typeof parsed === 'object' && parsed) text = JSON.stringify(parsed, null, 2);
    } catch {
      /* not JSON */
    }
    body = h(
      'pre',
      { class: 'whole', tabindex: '0', role: 'region', 'aria-label': name, dir: 'auto' },
      text,
    );
  }
  return dialog(
    name,
    close => [
      h(
        'div',
        { class: 'row' },
        h('h2', null, name),
        h('span', { class: 'tag' }, TYPES[type].name),
        h('span', { class: 'grow' }),
        h('button', { class: 'btn small', onclick: () => copy(value, name) }, 'Copy'),
        h('button', { class: 'btn small', autofocus: true, onclick: () => close() }, 'Close'),
      ),
      body,
    ],
    true,
  );
}

// --- the view ---

export async function show(route, table) {
  const view = new RowsView(route, table);
  return {
    nodes: view.nodes,
    actions: view.actions,
    shown: () => view.begin(),
    leave: () => view.close(),
  };
}

class RowsView {
  constructor(route, table) {
    Object.assign(this, {
      table,
      route,
      facts: factsOf(table),
      columns: new Columns(table, route.query.get('c')?.split(',')),
      limit: Number(route.query.get('top')) || 0,
      jumps: 0,
    });
    this.pages = null;
    this.partitions = [];
    this.bar = new QueryBar(table, route.query.get('f') || '', {
      columns: () => this.columns.types(),
      partitions: () => this.partitions,
      on: {
        run: (filter, explained) => this.wantRun(filter, explained),
        plan: () => {
          this.drawRuler();
          if (this.isEmpty()) this.drawEmpty();
        },
        typed: () => this.form?.read(),
        leave: () => this.grid.node.focus(),
        history: () => this.showHistory(),
      },
    });
    this.grid = new Grid({
      source: {
        get length() {
          return 0;
        },
        at: () => null,
        loaded: () => [],
      },
      columns: () => this.columns.shown(),
      on: {
        open: (index, entity) => this.open(entity),
        select: () => this.drawStatus(),
        end: () => this.goToEnd(),
        move: () => {
          this.jumps++;
        },
        resize: (name, width) => {
          this.columns.resize(name, width);
          this.columnsChanged();
        },
        reorder: (name, to) => this.moveColumn(name, to),
        sort: name => this.sort(name),
        expand: (entity, name) => {
          const value = entity.properties.get(name);
          if (value) expand(name, value);
        },
        key: (event, entity, column) => this.key(event, entity, column),
        view: (first, last, row) => {
          if (!this.grid.order) this.pages?.view(first, last, row);
          this.drawWindow(first, last);
        },
      },
    });
    this.askBox = h('div', { class: 'askbox' });
    this.status = h('div', { class: 'status', role: 'status' });
    this.place = h('span', { class: 'num', 'aria-live': 'off' });
    this.gridBox = h('div', { class: 'gridbox' }, this.grid.node);
    this.inspector = h('aside', { class: 'insp', 'aria-label': 'Entity', hidden: true });
    this.ruler = new Ruler({
      pick: key =>
        this.wantFilter(`PartitionKey eq ${literal({ type: 'Edm.String', value: key })}`),
    });
    this.browse = h('div', { class: 'browse' }, this.ruler.node, this.gridBox);
    this.columnButton = h('button', {
      class: 'btn quiet small',
      'aria-haspopup': 'dialog',
      onclick: () =>
        import('./columns.js').then(({ chooseColumns }) =>
          chooseColumns(this.columns, () => this.columnsChanged()),
        ),
    });
    this.formBox = h('div', { class: 'form', hidden: true });
    this.formButton = h(
      'button',
      { class: 'btn quiet small', 'aria-pressed': 'false', onclick: () => this.toggleForm() },
      'Form',
    );
    this.nodes = h(
      'div',
      { class: 'entities' },
      h(
        'div',
        { class: 'worked' },
        h('div', { class: 'qwrap' }, this.bar.node),
        this.formBox,
        h(
          'div',
          { class: 'qopts' },
          this.bar.sentence,
          this.formButton,
          this.columnButton,
          h(
            'button',
            {
              class: 'btn quiet small',
              'aria-haspopup': 'dialog',
              onclick: () => this.showHistory(),
            },
            'History',
          ),
        ),
        this.bar.panel,
        this.askBox,
        this.browse,
        this.status,
      ),
      this.inspector,
    );
    this.actions = [
      h('a', { class: 'btn desk', href: link('t', table, 'batch') }, 'Batch'),
      h('button', { class: 'btn', onclick: () => this.insert() }, icon('plus'), 'Insert'),
    ];
    this.onKey = event => {
      if (event.key === '/' && !event.target.closest('input, textarea, select, dialog')) {
        event.preventDefault();
        this.bar.field.focus();
      }
    };
    addEventListener('keydown', this.onKey);
  }

  begin() {
    this.loadFacts();
    this.run(this.bar.filter, false);
  }

  close() {
    removeEventListener('keydown', this.onKey);
    this.pages?.close();
    this.grid.close();
  }

  /** What the server knows of the keys of the table, now. */
  keyFacts() {
    return api.getJson(
      `/facts?account=${api.currentAccount()}&table=${encodeURIComponent(this.table)}&parts=keys`,
    );
  }

  async loadFacts() {
    try {
      const facts = await this.keyFacts();
      this.partitions = facts.partitions.largest.map(each => [each.partitionKey, each.entities]);
      this.ruler.set(facts);
      this.drawRuler();
    } catch {
      /* an older server */
    }
  }

  // --- running ---

  wantRun(filter, explained) {
    if (
      wastes(explained) &&
      !ASKED.has(shapeOf(filter)) &&
      !(explained.estimate && explained.estimate.examined < 1000)
    ) {
      this.ask(filter, explained);
      return;
    }
    this.run(filter, true);
  }

  /** Rows would be read that are not returned: say so first, and what would be better. */
  ask(filter, explained) {
    const estimate = explained.estimate;
    const read = estimate
      ? `${estimate.low === estimate.high ? '' : 'about '}${plural(estimate.examined, 'entity', 'entities')}`
      : 'every entity';
    const go = limit => {
      ASKED.add(shapeOf(filter));
      put(this.askBox);
      this.run(filter, true, limit);
    };
    put(
      this.askBox,
      h(
        'section',
        { class: 'ask', 'aria-label': 'A table scan' },
        h(
          'div',
          null,
          h('h2', null, 'This query scans the table.'),
          h(
            'p',
            null,
            `It reads ${read} and returns those that match. In Azure that is ${estimate ? plural(Math.max(1, Math.ceil(estimate.examined / 1000)), 'request') : 'many requests'}, one after the other.`,
          ),
          h(
            'div',
            { class: 'row' },
            h('button', { class: 'btn primary', onclick: () => go(0) }, 'Scan'),
            h(
              'button',
              {
                class: 'btn quiet',
                onclick: () => {
                  put(this.askBox);
                  this.bar.field.focus();
                },
              },
              'Cancel',
            ),
          ),
        ),
        h(
          'div',
          null,
          h('h3', null, 'Instead'),
          h('p', null, explained.advice),
          this.partitions.length > 0 && [
            h('p', { class: 'muted' }, 'Search one partition:'),
            h(
              'div',
              { class: 'row' },
              this.partitions.slice(0, 8).map(([key]) =>
                h(
                  'button',
                  {
                    class: 'keychip',
                    onclick: () => {
                      put(this.askBox);
                      this.bar.set(`PartitionKey eq '${key.replace(/'/g, "''")}' and (${filter})`);
                      this.bar.run();
                    },
                  },
                  shortened(visible(key), 30),
                ),
              ),
            ),
          ],
        ),
      ),
    );
    this.askBox.querySelector('button').focus();
    say('This query scans the table. Scan or cancel.');
  }

  /** Ask for the rows; `keep`: stay at the row that the cursor is on. */
  async run(filter, push, keep) {
    put(this.askBox);
    const before = keep ? this.grid.source.at(this.grid.row) : null,
      place = keep ? [this.grid.row, this.grid.top] : [0, 0];
    this.pages?.close();
    if (!keep) this.grid.order = null;
    if (push) setQuery({ f: filter, p: null }, true);
    this.filter = filter;
    this.grid.selected.clear();
    const pages = new Pages(this.table, {
      filter,
      top: this.limit,
      on: {
        change: what => {
          if (this.pages === pages) this.changed(what);
        },
      },
    });
    const stale = setTimeout(() => this.browse.classList.add('stale'), 150);
    this.pages = pages;
    await pages.begin();
    clearTimeout(stale);
    this.browse.classList.remove('stale');
    if (this.pages !== pages) return;
    this.grid.source = pages;
    if (this.grid.order) this.sortAgain();
    [this.grid.row, this.grid.top] = place;
    this.changed();
    if (push && !pages.trouble) remember(this.table, filter, pages.plan);
    if (!pages.trouble)
      say(`${plural(pages.returned, 'entity', 'entities')}${pages.isDone ? '' : ' and more'}`);
    if (!pages.isDone) await this.setLadder(pages);
    if (before && this.pages === pages && place[0] >= pages.blocks[0].known)
      await this.goToKey([before.partition, before.row]);
    if (!push && !keep) await this.openAddress();
  }

  /** What the address asks for besides the filter: a place, an entity. */
  async openAddress() {
    const { query } = this.route,
      place = query.get('p'),
      open = query.get('open') && query.get('at');
    const keyIn = text => {
      try {
        const [partition, row] = JSON.parse(text);
        return [String(partition), String(row)];
      } catch {
        return null;
      }
    };
    if (place && keyIn(place)) await this.goToKey(keyIn(place));
    if (open && keyIn(open)) {
      query.delete('open');
      try {
        this.open(await api.getEntity(this.table, ...keyIn(open)));
      } catch (trouble) {
        toast(trouble.message);
      }
    }
  }

  /** Where rows are that have not been read: by the server's sample of keys, as far as the query reads them. */
  async setLadder(pages) {
    try {
      const [explained, facts] = await Promise.all([
        api.explain(this.table, this.filter),
        this.keyFacts(),
      ]);
      if (this.pages !== pages || facts.entities == null) return;
      const ladder = ladderOf(facts, explained.ranges || []),
        hasFilter = !!this.filter.trim();
      const read = hasFilter ? (explained.estimate?.examined ?? facts.entities) : facts.entities;
      const share = explained.residual ? pages.returned / Math.max(1, pages.examined) : 1; // of those that are read
      pages.setLadder(
        ladder.map(({ key, rows }) => ({ key, rows: rows * share })),
        Math.round(read * share),
        facts.exact && !explained.residual && (!hasFilter || !!explained.estimate?.exact),
      );
    } catch {
      /* without one, rows come in order */
    }
  }

  isEmpty() {
    return this.pages?.isDone && !this.pages.trouble && this.pages.returned === 0;
  }

  /** Nothing came of the query, and why that may be: what was compared with another type matches nothing. */
  drawEmpty() {
    const { bar, filter, pages } = this,
      warnings = (bar.planned === filter && !bar.problem && bar.explained.warnings) || [];
    put(
      this.gridBox,
      h(
        'div',
        { class: 'empty' },
        filter.trim()
          ? h('p', null, 'No entity matches.')
          : h(
              'p',
              null,
              'This table is empty: ',
              h('button', { class: 'linky', onclick: () => this.insert() }, 'insert an entity'),
              ', or ',
              h('a', { href: link('t', this.table, 'io') }, 'import a file'),
              '.',
            ),
        warnings.map(text => h('p', { class: 'warns' }, `${text}.`)),
        pages.plan && filter.trim() && planChip(pages.plan),
      ),
    );
  }

  changed({ rows, shift = 0, cursor } = {}) {
    const { pages } = this;
    const keysWere = this.columns.longest.join(),
      added = this.columns.add(rows || []),
      isWider = this.columns.longest.join() !== keysWere;
    if (added.length && pages.requests > 1) say(`${plural(added.length, 'more column')}`);
    if (pages.trouble && pages.returned === 0)
      put(
        this.gridBox,
        troubleBox(pages.trouble),
        h(
          'p',
          { class: 'pad0' },
          h('button', { class: 'btn', onclick: () => this.run(this.filter, false) }, 'Try again'),
        ),
      );
    else if (this.isEmpty()) this.drawEmpty();
    else if (this.grid.node.parentNode !== this.gridBox) put(this.gridBox, this.grid.node);
    if (this.grid.order) this.sortAgain();
    else if (this.grid.source === pages) {
      if (cursor !== undefined) this.grid.moved(shift, cursor);
      if (added.length || isWider || !this.grid.columns) this.grid.refresh();
      else this.grid.rowsChanged();
    } else if (pages.returned) this.grid.refresh();
    put(
      this.columnButton,
      `${this.columns.shown().length} of ${this.columns.all().length} columns`,
    );
    this.drawStatus();
  }

  columnsChanged() {
    setQuery({ c: this.columns.address() });
    this.grid.refresh();
    put(
      this.columnButton,
      `${this.columns.shown().length} of ${this.columns.all().length} columns`,
    );
  }

  moveColumn(name, to) {
    if (!this.columns.move(name, to)) return;
    this.grid.column = this.columns.shown().findIndex(each => each.name === name);
    this.columnsChanged();
    this.grid.moveTo(this.grid.row);
    say(`${name} is column ${this.grid.column + 1}`);
  }

  // --- another order: of what is loaded ---

  /** By a property, upwards; downwards; as the service has them. */
  sort(name) {
    const { grid, pages } = this,
      was = grid.order?.name === name ? grid.order : null,
      at = grid.source.at(grid.row);
    if (!pages?.returned) return;
    grid.order = !was ? { name, isDown: false } : was.isDown ? null : { name, isDown: true };
    this.sortAgain();
    grid.show(Math.max(0, grid.order ? grid.source.loaded().indexOf(at) : 0));
    say(
      grid.order
        ? `Sorted by ${name}, ${grid.order.isDown ? 'greatest' : 'least'} first`
        : 'As stored',
    );
  }

  sortAgain() {
    const { grid, pages } = this;
    grid.source = grid.order ? new Sorted(pages.loaded(), grid.order) : pages;
    grid.lastSelected = null;
    grid.refresh();
    this.drawStatus();
  }

  unsort() {
    if (!this.grid.order) return;
    this.grid.order = null;
    this.sortAgain();
  }

  // --- places ---

  /** The last row.  Where the total is not known, all are read; that can be stopped. */
  async goToEnd() {
    if (this.grid.order) return this.grid.moveTo(this.grid.total - 1);
    const mine = ++this.jumps,
      { pages, grid } = this;
    grid.moveTo(grid.total - 1);
    this.jumps = mine;
    if (pages.total === null) return this.loadAll();
    const last = await pages.end();
    if (this.jumps === mine && this.pages === pages) {
      grid.moveTo(last);
      this.drawStatus();
    }
    return undefined;
  }

  async goToKey(key) {
    this.unsort();
    const mine = ++this.jumps,
      { pages, grid } = this,
      index = await pages.seek(key);
    if (this.jumps !== mine || this.pages !== pages || index < 0) return;
    grid.show(index);
    const found = pages.at(index);
    setQuery({ p: JSON.stringify(key) });
    say(found ? `${found.partition} / ${found.row}` : 'The end');
  }

  async askWhere() {
    const { askWhere } = await import('./jump.js');
    const where = await askWhere(this.pages.length, !this.pages.isDone && !this.pages.isExact);
    if (!where) return;
    this.grid.node.focus();
    if (where.key) {
      await this.goToKey(where.key);
      return;
    }
    setQuery({ p: null });
    this.unsort();
    this.grid.show(where.position);
  }

  wantFilter(filter) {
    this.bar.set(filter);
    this.bar.run();
  }

  async loadAll() {
    const mine = this.jumps,
      { pages } = this;
    let isStopped = false;
    this.loading = h(
      'button',
      {
        class: 'btn small',
        onclick: () => {
          isStopped = true;
        },
      },
      'Stop',
    );
    await pages.all(() => !isStopped && this.pages === pages);
    this.loading = null;
    if (this.pages !== pages) return;
    this.drawStatus();
    if (this.jumps === mine) this.grid.moveTo(this.grid.total - 1);
  }

  drawStatus() {
    const { pages } = this;
    if (!pages) return;
    const b = text => h('b', null, text),
      selected = this.grid.selected.size;
    const ratio = pages.examined > 100 * Math.max(pages.returned, 1) && pages.examined > 1000;
    put(
      this.status,
      h('span', null, b(count(pages.returned)), ' returned', pages.isDone ? '' : ' so far'),
      h('span', null, b(count(pages.examined)), ' examined'),
      h('span', { class: 'wide' }, b(milliseconds(pages.ms))),
      h(
        'span',
        { class: 'wide' },
        b(count(pages.requests)),
        pages.requests === 1 ? ' page' : ' pages',
      ),
      ratio &&
        h(
          'span',
          { class: 'bad' },
          pages.returned
            ? `${count(Math.round(pages.examined / pages.returned))} read for each that is returned.`
            : 'All were read for nothing.',
        ),
      pages.trouble &&
        h(
          'span',
          { class: 'bad' },
          pages.trouble.message,
          ' ',
          h(
            'button',
            {
              class: 'btn small',
              onclick: () => {
                pages.trouble = null;
                this.grid.draw();
                pages.more();
              },
            },
            'Go on',
          ),
        ),
      !pages.isDone &&
        !pages.trouble &&
        (this.loading ||
          (pages.total === null &&
            h(
              'span',
              { class: 'row' },
              h('button', { class: 'btn quiet small', onclick: () => pages.more() }, 'Next 1,000'),
              h('button', { class: 'btn quiet small', onclick: () => this.loadAll() }, 'All'),
            ))),
      pages.length > 100 &&
        h(
          'button',
          {
            class: 'btn quiet small',
            'aria-haspopup': 'dialog',
            title: 'Go to a row (G)',
            onclick: () => this.askWhere(),
          },
          'Go to',
        ),
      this.place,
      h('span', { class: 'grow' }),
      this.grid.order &&
        h(
          'span',
          null,
          `Sorted by ${this.grid.order.name}${pages.isDone ? '' : ', of what is loaded'} `,
          h(
            'button',
            {
              class: 'btn quiet small',
              onclick: () => {
                this.unsort();
                this.grid.node.focus();
              },
            },
            'As stored',
          ),
        ),
      selected > 0 &&
        h(
          'button',
          {
            class: 'btn quiet small',
            'aria-haspopup': 'dialog',
            onclick: () => showStatistics([...this.grid.selected.values()]),
          },
          'Statistics',
        ),
      selected > 0 &&
        h(
          'button',
          { class: 'btn small', onclick: () => this.removeSelected() },
          `Delete ${plural(selected, 'entity', 'entities')}`,
        ),
      h(
        'span',
        { class: 'seg', role: 'group', 'aria-label': 'Times' },
        [
          ['UTC', false],
          ['Local', true],
        ].map(([name, local]) =>
          h(
            'button',
            {
              'aria-pressed': String(timesAreLocal() === local),
              onclick: () => {
                showLocalTimes(local);
                this.grid.refresh();
                this.drawStatus();
              },
            },
            name,
          ),
        ),
      ),
      h(
        'a',
        { class: 'btn quiet small desk', href: link('t', this.table, 'io', { f: this.filter }) },
        'Export',
      ),
    );
  }

  // --- keys of the grid ---

  key(event, entity, column) {
    const value = entity?.properties.get(column.name);
    if (event.ctrlKey || event.metaKey) return;
    if (event.key === 'G') this.askWhere();
    else if (event.key === 'i') this.insert();
    else if (!entity) return;
    else if (event.key === 'c') this.insert(entity);
    else if (event.key === 'Delete') this.removeOne(entity);
    else if (event.key === 'y' && value) copy(value.value, column.name);
    else if (event.key === 'Y')
      copy(
        JSON.stringify(
          Object.fromEntries([...entity.properties].map(([name, each]) => [name, each.value])),
          null,
          2,
        ),
        'Entity',
      );
    else if (event.key === 'f' && value) {
      this.bar.set(
        `${this.bar.filter.trim() ? `${this.bar.filter.trim()} and ` : ''}${column.name} eq ${literal(value)}`,
      );
      this.bar.field.focus();
    } else if (event.key === 'u') {
      showLocalTimes(!timesAreLocal());
      this.grid.refresh();
      this.drawStatus();
    } else return;
    event.preventDefault();
  }

  // --- the ruler ---

  drawRuler() {
    this.ruler.draw(this.bar.explained, !!this.bar.filter.trim());
  }

  drawWindow(first, last) {
    const { pages } = this;
    if (this.grid.order) {
      put(this.place, `Row ${count(first + 1)} of ${count(this.grid.total)}`);
      this.ruler.show(undefined, undefined, null);
      return;
    }
    const known = pages && (pages.isDone || pages.total !== null) && !this.filter.trim();
    const total =
      pages && (pages.isDone || pages.total !== null)
        ? ` of ${pages.isDone || pages.isExact ? '' : 'about '}${count(pages.isDone ? pages.length : pages.total)}`
        : '';
    put(
      this.place,
      pages && pages.length > last - first + 1
        ? `${pages.isCounted(first) ? 'Row' : 'About row'} ${count(first + 1)}${total}`
        : '',
    );
    this.ruler.show(
      pages?.at(first),
      pages?.at(last),
      known && pages.length ? [first / pages.length, (last + 1) / pages.length] : null,
    );
  }

  // --- history, form ---

  async showHistory() {
    const list = history(this.table);
    const chosen = await dialog(
      'History',
      close => [
        h('h2', null, 'Filters of this table'),
        list.length === 0 && h('p', { class: 'muted' }, 'None has been run yet.'),
        h(
          'ul',
          { class: 'plain scroll' },
          list.map(entry =>
            h(
              'li',
              null,
              h(
                'button',
                { class: 'btn quiet hist', onclick: () => close(entry) },
                planChip(entry.plan || 'none'),
                h('code', null, entry.filter || '(no filter)'),
              ),
            ),
          ),
        ),
        h(
          'div',
          { class: 'row end' },
          h('button', { class: 'btn', onclick: () => close() }, 'Close'),
        ),
      ],
      true,
    );
    if (chosen) {
      this.bar.set(chosen.filter);
      this.bar.run();
    }
  }

  async toggleForm() {
    const { Form } = await import('./form.js');
    this.formBox.hidden = !this.formBox.hidden;
    this.formButton.setAttribute('aria-pressed', String(!this.formBox.hidden));
    this.form = this.formBox.hidden
      ? null
      : new Form(this.formBox, this.bar, () => this.columns.types());
  }

  // --- the inspector ---

  async open(entity) {
    const { Editor } = await import('./entity.js');
    setQuery({ at: JSON.stringify([entity.partition, entity.row]) });
    this.showEditor(
      new Editor(this.table, entity, { known: this.columns.types(), on: this.editorEvents() }),
    );
  }

  async insert(from) {
    const { Editor } = await import('./entity.js');
    this.showEditor(
      new Editor(this.table, null, { from, known: this.columns.types(), on: this.editorEvents() }),
    );
  }

  editorEvents() {
    return {
      close: () => {
        this.inspector.hidden = true;
        this.nodes.classList.remove('with-insp');
        setQuery({ at: null });
        this.grid.node.focus();
        this.grid.drawSoon();
      },
      saved: entity => {
        if (!this.pages.replace(entity)) this.run(this.filter, false, true);
        this.columns.add([entity]);
        if (this.grid.order) this.sortAgain();
        else this.grid.refresh();
        refreshTree();
      },
      removed: () => {
        this.run(this.filter, false, true);
        refreshTree();
      },
    };
  }

  showEditor(editor) {
    put(this.inspector, editor.node);
    this.inspector.hidden = false;
    this.nodes.classList.add('with-insp');
    editor.focus();
    this.grid.drawSoon();
  }

  async removeOne(entity) {
    const { removeEntity } = await import('./entity.js');
    await removeEntity(this.table, entity, () => this.run(this.filter, false, true));
    this.run(this.filter, false, true);
    refreshTree();
  }

  /** As batches of a hundred for each partition; what went can come back. */
  async removeSelected() {
    const list = [...this.grid.selected.values()],
      byPartition = Map.groupBy
        ? Map.groupBy(list, entity => entity.partition)
        : list.reduce(
            (map, entity) =>
              map.set(entity.partition, [...(map.get(entity.partition) || []), entity]),
            new Map(),
          );
    if (
      !(await ask(
        `Delete ${plural(list.length, 'entity', 'entities')} in ${plural(byPartition.size, 'partition')}?`,
        `Delete ${plural(list.length, 'entity', 'entities')}`,
      ))
    )
      return;
    const gone = [];
    try {
      for (const entities of byPartition.values()) {
        for (let at = 0; at < entities.length; at += 100) {
          const part = entities.slice(at, at + 100);
          await api.sendBatch(
            this.table,
            part.map(entity => ({
              how: 'delete',
              partition: entity.partition,
              row: entity.row,
              etag: entity.etag,
            })),
          );
          gone.push(...part);
        }
      }
    } catch (trouble) {
      toast(`Stopped after ${count(gone.length)}: ${trouble.message}`);
    }
    this.grid.selected.clear();
    await this.run(this.filter, false, true);
    refreshTree();
    if (gone.length)
      toast(`${plural(gone.length, 'entity', 'entities')} deleted`, () => this.putBack(gone));
  }

  async putBack(entities) {
    let back = 0;
    for (const entity of entities) {
      try {
        await api.insertEntity(this.table, entity.properties);
        back++;
      } catch (trouble) {
        if (trouble.code !== 'EntityAlreadyExists') {
          toast(trouble.message);
          break;
        }
      }
    }
    toast(`${plural(back, 'entity', 'entities')} put back`);
    await this.run(this.filter, false, true);
    refreshTree();
  }
}
