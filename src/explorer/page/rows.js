// Entities of a table: the query bar over the grid, the key ruler beside it, the inspector.

import { h, put, s, icon, count, plural, milliseconds, say, toast, ask, copy, dialog, visible, shortened, timesAreLocal, showLocalTimes, bytes } from './dom.js';
import * as api from './api.js';
import { link, setQuery, factsOf, troubleBox, refreshTree } from './shell.js';
import { Pages } from './pages.js';
import { Grid, keyOf } from './grid.js';
import { QueryBar, wastes, planChip } from './queries.js';
import { TYPES, literal, binaryBytes, isNumber } from './values.js';

const history = table => JSON.parse(localStorage.getItem(`tavola.history.${table}`) || '[]');
function remember(table, filter, plan) {
  const list = history(table).filter(entry => entry.filter !== filter);
  list.unshift({ filter, plan, at: Date.now() });
  localStorage.setItem(`tavola.history.${table}`, JSON.stringify(list.slice(0, 200)));
}

const ASKED = new Set(); // shapes that were let through, until the tab closes
const shapeOf = filter => filter.replace(/'(?:[^']|'')*'/g, '?').replace(/\b\d[\w.]*/g, '?');

// --- the expander: a long value whole ---

export function expand(name, { type, value }) {
  let body;
  if (type === 'Edm.Binary') {
    const data = binaryBytes(value), lines = [];
    for (let at = 0; at < Math.min(data.length, 8192); at += 16) {
      const part = [...data.slice(at, at + 16)];
      lines.push(`${at.toString(16).padStart(6, '0')}  ${part.map(x => x.toString(16).padStart(2, '0')).join(' ').padEnd(48)} ${part.map(x => x >= 32 && x < 127 ? String.fromCharCode(x) : '.').join('')}`);
    }
    const isPicture = (data[0] === 0x89 && data[1] === 0x50) || (data[0] === 0xff && data[1] === 0xd8);
    const url = isPicture ? URL.createObjectURL(new Blob([data], { type: data[0] === 0x89 ? 'image/png' : 'image/jpeg' })) : null;
    body = [url && h('img', { src: url, alt: name, class: 'picture' }), h('pre', { class: 'whole', tabindex: '0', role: 'region', 'aria-label': name }, lines.join('\n'), data.length > 8192 ? `\n… ${bytes(data.length)} in all` : '')];
  } else {
    let text = value;
    try { const parsed = JSON.parse(value); if (typeof parsed === 'object' && parsed) text = JSON.stringify(parsed, null, 2); } catch { /* not JSON */ }
    body = h('pre', { class: 'whole', tabindex: '0', role: 'region', 'aria-label': name, dir: 'auto' }, text);
  }
  return dialog(name, close => [h('div', { class: 'row' }, h('h2', null, name), h('span', { class: 'tag' }, TYPES[type].name), h('span', { class: 'grow' }),
    h('button', { class: 'btn small', onclick: () => copy(value, name) }, 'Copy'), h('button', { class: 'btn small', autofocus: true, onclick: () => close() }, 'Close')), body], true);
}

// --- columns: of what has been seen, keys first, Timestamp last ---

class Columns {
  constructor(table) {
    this.store = `tavola.columns.${table}`;
    this.seen = new Map([['PartitionKey', new Map([['Edm.String', 1]])], ['RowKey', new Map([['Edm.String', 1]])]]);
    this.hidden = new Set(JSON.parse(localStorage.getItem(this.store) || '[]'));
  }

  /** Names that were not there before. */
  add(entities) {
    const added = [];
    for (const entity of entities) {
      for (const [name, { type }] of entity.properties) {
        let types = this.seen.get(name);
        if (!types) { types = new Map(); this.seen.set(name, types); if (name !== 'Timestamp') added.push(name); }
        types.set(type, (types.get(type) || 0) + 1);
      }
    }
    return added;
  }

  typeOf(name) {
    const types = this.seen.get(name);
    return types ? [...types].sort((a, b) => b[1] - a[1])[0][0] : undefined;
  }

  frequency(name) { return [...(this.seen.get(name)?.values() || [])].reduce((sum, n) => sum + n, 0); }

  all() {
    return [...this.seen.keys()].sort((a, b) => (a === 'Timestamp') - (b === 'Timestamp'));
  }

  shown() {
    return this.all().filter(name => !this.hidden.has(name)).map(name => ({ name, type: this.typeOf(name), isMixed: this.seen.get(name).size > 1 }));
  }

  types() { return new Map(this.all().map(name => [name, this.typeOf(name)])); }

  hide(name, on) {
    if (on) this.hidden.add(name); else this.hidden.delete(name);
    localStorage.setItem(this.store, JSON.stringify([...this.hidden]));
  }
}

// --- the view ---

export async function show(route, table) {
  const view = new RowsView(route, table);
  return { nodes: view.nodes, actions: view.actions, shown: () => view.begin(), leave: () => view.close() };
}

class RowsView {
  constructor(route, table) {
    Object.assign(this, { table, route, facts: factsOf(table), columns: new Columns(table), limit: Number(route.query.get('top')) || 0 });
    this.pages = null;
    this.partitions = [];
    this.bar = new QueryBar(table, route.query.get('f') || '', {
      columns: () => this.columns.types(), partitions: () => this.partitions,
      on: { run: (filter, explained) => this.wantRun(filter, explained), plan: explained => this.drawRuler(explained), leave: () => this.grid.node.focus(), history: () => this.showHistory() },
    });
    this.grid = new Grid({
      source: { get length() { return 0; }, at: () => null, loaded: () => [] }, columns: () => this.columns.shown(),
      on: {
        open: (index, entity) => this.open(entity), need: () => this.needMore(), select: () => this.drawStatus(), end: () => this.loadAll(),
        expand: (entity, name) => { const value = entity.properties.get(name); if (value) expand(name, value); },
        key: (event, entity, column) => this.key(event, entity, column), view: (first, last) => this.drawWindow(first, last),
      },
    });
    this.askBox = h('div', { class: 'askbox' });
    this.status = h('div', { class: 'status', role: 'status' });
    this.gridBox = h('div', { class: 'gridbox' }, this.grid.node);
    this.inspector = h('aside', { class: 'insp', 'aria-label': 'Entity', hidden: true });
    this.ruler = h('div', { class: 'ruler', role: 'img', 'aria-label': 'The keys of the table, and what the filter reads of them' });
    this.browse = h('div', { class: 'browse' }, this.ruler, this.gridBox, this.inspector);
    this.columnButton = h('button', { class: 'btn quiet small', 'aria-haspopup': 'dialog', onclick: () => this.chooseColumns() });
    this.formBox = h('div', { class: 'form', hidden: true });
    this.formButton = h('button', { class: 'btn quiet small', 'aria-pressed': 'false', onclick: () => this.toggleForm() }, 'Form');
    this.nodes = [
      h('div', { class: 'qwrap' }, this.bar.node, this.formBox,
        h('div', { class: 'qopts' }, this.bar.sentence, this.formButton, this.columnButton,
          h('button', { class: 'btn quiet small', 'aria-haspopup': 'dialog', onclick: () => this.showHistory() }, 'History'))),
      this.bar.panel, this.askBox, this.browse, this.status,
    ];
    this.actions = [h('a', { class: 'btn', href: link('t', table, 'batch') }, 'Batch'), h('button', { class: 'btn', onclick: () => this.insert() }, icon('plus'), 'Insert')];
    this.onKey = event => { if (event.key === '/' && !event.target.closest('input, textarea, select, dialog')) { event.preventDefault(); this.bar.field.focus(); } };
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

  async loadFacts() {
    try {
      const facts = await api.getJson(`/facts?account=${api.currentAccount()}&table=${encodeURIComponent(this.table)}`);
      this.partitions = facts.partitions.largest.map(each => [each.partitionKey, each.entities]);
      this.allFacts = facts;
      this.drawRuler(this.bar.explained);
    } catch { /* an older server */ }
  }

  // --- running ---

  wantRun(filter, explained) {
    if (wastes(explained) && !ASKED.has(shapeOf(filter)) && !(explained.estimate && explained.estimate.examined < 1000)) { this.ask(filter, explained); return; }
    this.run(filter, true);
  }

  /** Rows would be read that are not returned: say so first, and what would be better. */
  ask(filter, explained) {
    const estimate = explained.estimate;
    const read = estimate ? `${estimate.low === estimate.high ? '' : 'about '}${plural(estimate.examined, 'entity', 'entities')}` : 'every entity';
    const go = limit => { ASKED.add(shapeOf(filter)); put(this.askBox); this.run(filter, true, limit); };
    put(this.askBox, h('section', { class: 'ask', 'aria-label': 'A table scan' },
      h('div', null, h('h2', null, 'This query scans the table.'),
        h('p', null, `It reads ${read} and returns those that match. In Azure that is ${estimate ? plural(Math.max(1, Math.ceil(estimate.examined / 1000)), 'request') : 'many requests'}, one after the other.`),
        h('div', { class: 'row' }, h('button', { class: 'btn primary', onclick: () => go(0) }, 'Scan'),
          h('button', { class: 'btn quiet', onclick: () => { put(this.askBox); this.bar.field.focus(); } }, 'Cancel'))),
      h('div', null, h('h3', null, 'Instead'), h('p', null, explained.advice),
        this.partitions.length > 0 && [h('p', { class: 'muted' }, 'Search one partition:'), h('div', { class: 'row' }, this.partitions.slice(0, 8).map(([key]) =>
          h('button', { class: 'keychip', onclick: () => { put(this.askBox); this.bar.set(`PartitionKey eq '${key.replace(/'/g, "''")}' and (${filter})`); this.bar.run(); } }, shortened(visible(key), 30))))])));
    this.askBox.querySelector('button').focus();
    say('This query scans the table. Scan or cancel.');
  }

  async run(filter, push) {
    put(this.askBox);
    this.pages?.close();
    if (push) setQuery({ f: filter }, true);
    this.filter = filter;
    this.grid.selected.clear();
    const pages = new Pages(this.table, { filter, top: this.limit, on: { change: () => { if (this.pages === pages) this.changed(); } } });
    const stale = setTimeout(() => this.browse.classList.add('stale'), 150);
    this.pages = pages;
    await pages.more();
    clearTimeout(stale);
    this.browse.classList.remove('stale');
    if (this.pages !== pages) return;
    this.grid.source = pages;
    this.grid.node.scrollTop = 0;
    this.grid.row = 0;
    this.changed();
    if (push && !pages.trouble) remember(this.table, filter, pages.plan);
    if (!pages.trouble) say(`${plural(pages.length, 'entity', 'entities')}${pages.isDone ? '' : ' and more'}`);
    const open = this.route.query.get('at');
    if (open && this.route.query.get('open')) {
      const [partition, row] = JSON.parse(open);
      try { this.open(await api.getEntity(this.table, partition, row)); } catch (trouble) { toast(trouble.message); }
      this.route.query.delete('open');
    }
  }

  changed() {
    const { pages } = this;
    const added = this.columns.add(pages.pages[pages.pages.length - 1]?.rows || []);
    if (added.length && pages.requests > 1) say(`${plural(added.length, 'more column')}`);
    if (pages.trouble && pages.length === 0) put(this.gridBox, troubleBox(pages.trouble), h('p', { class: 'pad0' }, h('button', { class: 'btn', onclick: () => this.run(this.filter, false) }, 'Try again')));
    else if (pages.length === 0 && pages.isDone) put(this.gridBox, h('div', { class: 'empty' }, h('p', null, this.filter.trim() ? 'No entity matches.' : 'This table is empty.'), pages.plan && this.filter.trim() && planChip(pages.plan)));
    else if (this.grid.node.parentNode !== this.gridBox) put(this.gridBox, this.grid.node);
    this.grid.refresh();
    put(this.columnButton, `${this.columns.shown().length} of ${this.columns.all().length} columns`);
    this.drawStatus();
  }

  needMore() {
    if (this.pages && !this.pages.isDone && !this.pages.isLoading && !this.pages.trouble) this.pages.more();
  }

  async loadAll() {
    let isStopped = false;
    const stop = h('button', { class: 'btn small', onclick: () => { isStopped = true; } }, 'Stop');
    this.loading = stop;
    await this.pages.reach(Infinity, () => { this.drawStatus(); return !isStopped; });
    this.loading = null;
    this.drawStatus();
    this.grid.moveTo(this.grid.total - 1);
  }

  drawStatus() {
    const { pages } = this;
    if (!pages) return;
    const b = text => h('b', null, text), selected = this.grid.selected.size;
    const ratio = pages.examined > 100 * Math.max(pages.length, 1) && pages.examined > 1000;
    put(this.status,
      h('span', null, b(count(pages.length)), ' returned', pages.isDone ? '' : ' so far'), h('span', null, b(count(pages.examined)), ' examined'), h('span', { class: 'desk' }, b(milliseconds(pages.ms))), h('span', { class: 'desk' }, b(count(pages.requests)), pages.requests === 1 ? ' page' : ' pages'),
      ratio && h('span', { class: 'bad' }, `${count(Math.round(pages.examined / Math.max(pages.length, 1)))} read for each that is returned.`),
      pages.trouble && h('span', { class: 'bad' }, pages.trouble.message, ' ', h('button', { class: 'btn small', onclick: () => pages.more() }, 'Go on')),
      !pages.isDone && !pages.trouble && (this.loading || h('span', { class: 'row' }, h('button', { class: 'btn quiet small', onclick: () => pages.more() }, 'Next 1,000'), h('button', { class: 'btn quiet small', onclick: () => this.loadAll() }, 'All'))),
      h('span', { class: 'grow' }),
      selected > 0 && h('button', { class: 'btn small', onclick: () => this.removeSelected() }, `Delete ${plural(selected, 'entity', 'entities')}`),
      h('span', { class: 'seg', role: 'group', 'aria-label': 'Times' }, [['UTC', false], ['Local', true]].map(([name, local]) => h('button', { 'aria-pressed': String(timesAreLocal() === local), onclick: () => { showLocalTimes(local); this.grid.refresh(); this.drawStatus(); } }, name))),
      h('a', { class: 'btn quiet small desk', href: link('t', this.table, 'io', { f: this.filter }) }, 'Export this query'));
  }

  // --- keys of the grid ---

  key(event, entity, column) {
    const value = entity.properties.get(column.name);
    if (event.ctrlKey || event.metaKey) return;
    if (event.key === 'c') this.insert(entity);
    else if (event.key === 'i') this.insert();
    else if (event.key === 'Delete') this.removeOne(entity);
    else if (event.key === 'y' && value) copy(value.value, column.name);
    else if (event.key === 'Y') copy(JSON.stringify(Object.fromEntries([...entity.properties].map(([name, each]) => [name, each.value])), null, 2), 'Entity');
    else if (event.key === 'f' && value) { this.bar.set(`${this.bar.filter.trim() ? `${this.bar.filter.trim()} and ` : ''}${column.name} eq ${literal(value)}`); this.bar.field.focus(); }
    else if (event.key === 'u') { showLocalTimes(!timesAreLocal()); this.grid.refresh(); this.drawStatus(); }
    else return;
    event.preventDefault();
  }

  // --- the ruler: the key space, and what the filter reads of it ---

  drawRuler(explained) {
    const parts = this.partitions, total = parts.reduce((sum, [, size]) => sum + (size || 1), 0);
    const height = this.ruler.clientHeight || 600;
    if (!parts.length || !total) { put(this.ruler); return; }
    const sorted = [...parts].sort((a, b) => a[0] < b[0] ? -1 : 1), scale = (height - 24) / total;
    let y = 12;
    const lit = key => (explained?.ranges || []).some(range => {
      const bound = side => range[side] == null ? null : typeof range[side] === 'object' ? range[side].partitionKey ?? range[side].PartitionKey ?? Object.values(range[side])[0] : range[side];
      const from = bound('from'), to = bound('to');
      return (from == null || key >= from) && (to == null || key <= to);
    });
    const css = explained ? { point: 'point', range: 'range', partition: 'part', table: 'table' }[explained.plan] : null;
    put(this.ruler, s('svg', { 'aria-hidden': 'true' }, sorted.slice(0, 400).map(([key, size]) => {
      const tall = Math.max(2, (size || 1) * scale - 2), at = y;
      y += tall + 2;
      return [s('rect', { class: 'blk', x: 12, y: at, width: 9, height: tall, rx: 1 }, s('title', null, `${visible(key)}: ${count(size || 0)}`)),
        css && this.bar.filter.trim() && lit(key) && s('rect', { class: `fill-${css}`, x: 10, y: at, width: 13, height: explained.plan === 'partition' || explained.plan === 'table' ? tall : 3, rx: 1 }),
        tall >= 13 && s('text', { x: 28, y: at + 10 }, shortened(visible(key), 13)), tall >= 28 && s('text', { class: 'c', x: 28, y: at + 24 }, count(size || 0))];
    })));
  }

  drawWindow() { /* the rows in view are named by the grid's own row numbers */ }

  // --- columns, history, form ---

  chooseColumns() {
    return dialog('Columns', close => [h('h2', null, 'Columns'), h('ul', { class: 'plain scroll' }, this.columns.all().map(name => {
      const isKey = name === 'PartitionKey' || name === 'RowKey';
      return h('li', null, h('label', { class: 'row' }, h('input', { type: 'checkbox', checked: !this.columns.hidden.has(name), disabled: isKey, onchange: event => { this.columns.hide(name, !event.target.checked); this.grid.refresh(); put(this.columnButton, `${this.columns.shown().length} of ${this.columns.all().length} columns`); } }),
        h('span', { class: 'grow mono' }, name), h('span', { class: 'tag' }, TYPES[this.columns.typeOf(name)]?.name || ''), h('span', { class: 'muted num' }, count(this.columns.frequency(name)))));
    })), h('div', { class: 'row end' }, h('button', { class: 'btn primary', autofocus: true, onclick: () => close() }, 'Done'))]);
  }

  async showHistory() {
    const list = history(this.table);
    const chosen = await dialog('History', close => [h('h2', null, 'Filters of this table'), list.length === 0 && h('p', { class: 'muted' }, 'None has been run yet.'),
      h('ul', { class: 'plain scroll' }, list.map(entry => h('li', null, h('button', { class: 'btn quiet hist', onclick: () => close(entry) }, planChip(entry.plan || 'none'), h('code', null, entry.filter || '(no filter)'))))),
      h('div', { class: 'row end' }, h('button', { class: 'btn', onclick: () => close() }, 'Close'))], true);
    if (chosen) { this.bar.set(chosen.filter); this.bar.run(); }
  }

  toggleForm() {
    this.formBox.hidden = !this.formBox.hidden;
    this.formButton.setAttribute('aria-pressed', String(!this.formBox.hidden));
    if (!this.formBox.hidden) import('./form.js').then(({ drawForm }) => drawForm(this.formBox, this.bar, this.columns.types()));
  }

  // --- the inspector ---

  async open(entity) {
    const { Editor } = await import('./entity.js');
    setQuery({ at: JSON.stringify([entity.partition, entity.row]) });
    this.showEditor(new Editor(this.table, entity, { on: this.editorEvents() }));
  }

  async insert(from) {
    const { Editor } = await import('./entity.js');
    this.showEditor(new Editor(this.table, null, { from, on: this.editorEvents() }));
  }

  editorEvents() {
    return {
      close: () => { this.inspector.hidden = true; this.browse.classList.remove('with-insp'); setQuery({ at: null }); this.grid.node.focus(); this.grid.drawSoon(); },
      saved: entity => { if (!this.pages.replace(entity)) this.run(this.filter, false); this.columns.add([entity]); this.grid.refresh(); refreshTree(); },
      removed: () => { this.run(this.filter, false); refreshTree(); },
    };
  }

  showEditor(editor) {
    put(this.inspector, editor.node);
    this.inspector.hidden = false;
    this.browse.classList.add('with-insp');
    editor.focus();
    this.grid.drawSoon();
  }

  async removeOne(entity) {
    const { removeEntity } = await import('./entity.js');
    await removeEntity(this.table, entity, () => this.run(this.filter, false));
    this.run(this.filter, false);
    refreshTree();
  }

  /** As batches of a hundred for each partition; what went can come back. */
  async removeSelected() {
    const list = [...this.grid.selected.values()], byPartition = Map.groupBy ? Map.groupBy(list, entity => entity.partition) : list.reduce((map, entity) => map.set(entity.partition, [...(map.get(entity.partition) || []), entity]), new Map());
    if (!await ask(`Delete ${plural(list.length, 'entity', 'entities')} in ${plural(byPartition.size, 'partition')}?`, `Delete ${plural(list.length, 'entity', 'entities')}`)) return;
    const gone = [];
    try {
      for (const entities of byPartition.values()) {
        for (let at = 0; at < entities.length; at += 100) {
          const part = entities.slice(at, at + 100);
          await api.sendBatch(this.table, part.map(entity => ({ how: 'delete', partition: entity.partition, row: entity.row, etag: entity.etag })));
          gone.push(...part);
        }
      }
    } catch (trouble) { toast(`Stopped after ${count(gone.length)}: ${trouble.message}`); }
    this.grid.selected.clear();
    await this.run(this.filter, false);
    refreshTree();
    if (gone.length) toast(`${plural(gone.length, 'entity', 'entities')} deleted`, () => this.putBack(gone));
  }

  async putBack(entities) {
    let back = 0;
    for (const entity of entities) {
      try { await api.insertEntity(this.table, entity.properties); back++; } catch (trouble) { if (trouble.code !== 'EntityAlreadyExists') { toast(trouble.message); break; } }
    }
    toast(`${plural(back, 'entity', 'entities')} put back`);
    await this.run(this.filter, false);
    refreshTree();
  }
}
