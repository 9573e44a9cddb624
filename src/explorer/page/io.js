// Import and export of a table: exactly one query out, any file of ours in.

import { h, put, count, plural, bytes, toast, say } from './dom.js';
import * as api from './api.js';
import { troubleBox, refreshTree, factsOf, link } from './shell.js';
import { csvHead, csvLines, ndjsonLines, readFile } from './transfer.js';
import { entityCost } from './values.js';

const IN_FLIGHT = 4, BATCH_BYTES = 3 << 20;

function save(parts, name, type) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const a = h('a', { href: url, download: name });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

function exportSection(table, filter) {
  const field = h('input', { class: 'field mono grow', 'aria-label': 'Filter of the export', placeholder: 'No filter: the whole table', value: filter });
  const format = h('select', { class: 'field', 'aria-label': 'Format' }, [['csv', 'Typed CSV'], ['ndjson', 'NDJSON']].map(([id, name]) => h('option', { value: id }, name)));
  const guard = h('input', { type: 'checkbox' });
  const progress = h('p', { role: 'status' }), trouble = h('div');
  let stop = null;
  const button = h('button', { class: 'btn primary', onclick: () => stop ? stop() : run() }, 'Export');

  async function* pages() {
    let next = null;
    do {
      const page = await api.queryPage(table, { filter: field.value, next });
      yield page;
      next = page.next;
    } while (next);
  }

  // Columns of a CSV have to be known before its first line, so the query is walked twice.
  async function columnsOf(report) {
    const types = new Map([['PartitionKey', 'Edm.String'], ['RowKey', 'Edm.String']]);
    let seen = 0;
    for await (const page of pages()) {
      for (const entity of page.entities) for (const [name, { type }] of entity.properties) { if (!types.has(name)) types.set(name, type); else if (types.get(name) !== type) types.set(name, 'Edm.String'); }
      seen += page.returned;
      if (report(seen) === false) return null;
    }
    return [...types].map(([name, type]) => ({ name, type }));
  }

  async function run() {
    let isStopped = false;
    stop = () => { isStopped = true; };
    put(button, 'Stop');
    put(trouble);
    try {
      const parts = [], isCsv = format.value === 'csv';
      const columns = isCsv ? await columnsOf(seen => { put(progress, `Looking at ${count(seen)} for their columns`); return !isStopped; }) : null;
      if (isCsv && columns) parts.push(csvHead(columns));
      let done = 0, size = 0;
      for await (const page of isStopped ? [] : pages()) {
        const text = isCsv ? csvLines(page.entities, columns, { guard: guard.checked }) : ndjsonLines(page.entities);
        parts.push(new Blob([text]));
        done += page.returned;
        size += text.length;
        put(progress, `${count(done)} entities, ${bytes(size)}`);
        if (isStopped) break;
      }
      if (isStopped) put(progress, `Stopped after ${count(done)}. Nothing was saved.`);
      else { save(parts, `${table}.${isCsv ? 'typed.csv' : 'ndjson'}`, 'application/octet-stream'); put(progress, `${plural(done, 'entity', 'entities')} exported, ${bytes(size)}.`); }
    } catch (error) { put(trouble, troubleBox(error)); put(progress); }
    stop = null;
    put(button, 'Export');
  }

  return h('section', { class: 'card io' }, h('h2', null, 'Export'), h('p', { class: 'soft' }, 'Exactly this query, with types.'), h('div', { class: 'row' }, field, format, button),
    h('label', { class: 'row' }, guard, 'Put an apostrophe before text that a spreadsheet would run (= + - @); it changes the data'), progress, trouble);
}

function importSection(table) {
  const picker = h('input', { type: 'file', 'aria-label': 'File to import', accept: '.csv,.ndjson,.jsonl,.json,.txt' });
  const conflict = h('select', { class: 'field', 'aria-label': 'When an entity is there already' }, [['upsert', 'Replace what is there'], ['merge', 'Merge into what is there'], ['insert', 'Leave what is there']].map(([id, name]) => h('option', { value: id }, name)));
  const dry = h('input', { type: 'checkbox' });
  const preview = h('div'), progress = h('p', { role: 'status' }), trouble = h('div');
  const button = h('button', { class: 'btn primary', disabled: true, onclick: () => stop ? stop() : run() }, 'Import');
  let stop = null;

  async function look() {
    const rows = [];
    put(trouble);
    for await (const entry of readFile(picker.files[0])) { rows.push(entry); if (rows.length === 20) break; }
    const names = [...new Set(rows.flatMap(entry => entry.properties ? [...entry.properties.keys()] : []))];
    put(preview, h('p', { class: 'muted' }, `${picker.files[0].name}, ${bytes(picker.files[0].size)}. The first ${rows.length}:`), h('div', { class: 'scroll' }, h('table', { class: 'list' }, h('thead', null, h('tr', null, names.map(name => h('th', { scope: 'col' }, name)))),
      h('tbody', null, rows.map(entry => entry.properties ? h('tr', null, names.map(name => h('td', { class: 'mono', dir: 'auto' }, (entry.properties.get(name)?.value ?? '–').slice(0, 60)))) : h('tr', null, h('td', { class: 'bad', colspan: names.length || 1 }, `Line ${count(entry.line)} ${entry.problem}`)))))));
    button.disabled = rows.length === 0;
  }

  async function run() {
    let isStopped = false, done = 0, skipped = 0, line = 0;
    const bad = [], file = picker.files[0], began = performance.now(), flying = new Set();
    stop = () => { isStopped = true; };
    put(button, 'Stop');
    put(trouble);
    const how = conflict.value;
    const draw = () => { const seconds = (performance.now() - began) / 1000; put(progress, `${count(done)} of about ${count(line ? Math.round(file.size / Math.max(1, readBytes / line)) : 0)}, ${count(done / Math.max(seconds, 0.001))}/s${bad.length ? `, ${plural(bad.length, 'bad line')}` : ''}${skipped ? `, ${count(skipped)} were there` : ''}`); };
    let readBytes = 0, failure = null;

    const one = async entry => {
      try { if (how === 'insert') await api.insertEntity(table, entry.properties); else await api.writeEntity(table, how === 'merge' ? 'merge' : 'replace', entry.properties, null); done++; } catch (error) {
        if (error.code === 'EntityAlreadyExists') skipped++;
        else if (error.status >= 400 && error.status < 500) bad.push({ ...entry, problem: `${error.code}: ${error.message}` });
        else throw error;
      }
    };
    // A batch that fails as a whole is sent again one by one: so each line has its own outcome.
    const sendGroup = async group => {
      try { await api.sendBatch(table, group.map(entry => ({ how: how === 'insert' ? 'insert' : how === 'merge' ? 'merge' : 'upsert', properties: entry.properties, etag: '*' }))); done += group.length; } catch (error) {
        if (error.status === 0 || error.status >= 500) throw error;
        for (const entry of group) await one(entry);
      }
    };
    let group = [], groupBytes = 0;
    const flush = async () => {
      if (!group.length) return;
      const sent = group;
      group = [];
      groupBytes = 0;
      while (flying.size >= IN_FLIGHT) await Promise.race(flying);
      const task = sendGroup(sent).catch(error => { failure = error; }).finally(() => { flying.delete(task); draw(); });
      flying.add(task);
    };
    try {
      for await (const entry of readFile(file)) {
        line = entry.line;
        readBytes += entry.text.length + 1;
        if (isStopped || failure) break;
        if (!entry.properties) { bad.push(entry); continue; }
        if (dry.checked) { done++; if (done % 5000 === 0) { draw(); await new Promise(requestAnimationFrame); } continue; }
        const cost = entityCost(entry.properties);
        const isOther = group.length && group[0].properties.get('PartitionKey').value !== entry.properties.get('PartitionKey').value;
        if (isOther || group.length === 100 || groupBytes + cost > BATCH_BYTES || group.some(each => each.properties.get('RowKey').value === entry.properties.get('RowKey').value)) await flush();
        group.push(entry);
        groupBytes += cost;
      }
      if (!isStopped && !failure) await flush();
      await Promise.all(flying);
      if (failure) throw failure;
      put(progress, `${isStopped ? 'Stopped: ' : ''}${plural(done, 'entity', 'entities')} ${dry.checked ? 'can be imported' : 'imported'}${skipped ? `, ${count(skipped)} were there already` : ''}${bad.length ? `, ${plural(bad.length, 'bad line')}: ` : '.'}`,
        bad.length > 0 && h('button', { class: 'btn small', onclick: () => save(bad.map(entry => `${entry.text}\n`), `${file.name.replace(/\.[^.]*$/, '')}.bad.${file.name.split('.').pop()}`, 'text/plain') }, 'Save the bad lines'), bad.length > 0 && h('span', { class: 'muted' }, ` Line ${count(bad[0].line)} ${bad[0].problem}`));
      say('The import has ended.');
    } catch (error) { put(trouble, troubleBox(error), h('p', { class: 'pad0' }, `${count(done)} were imported; the rest can be imported again: what is there is replaced.`)); }
    stop = null;
    put(button, 'Import');
    refreshTree();
  }

  picker.addEventListener('change', () => { if (picker.files[0]) look().catch(error => put(trouble, troubleBox(error))); });
  return h('section', { class: 'card io' }, h('h2', null, 'Import'), h('p', { class: 'soft' }, 'Typed CSV (Name:Type in the header) or one JSON object a line.'), h('div', { class: 'row' }, picker, conflict, button), h('label', { class: 'row' }, dry, 'Dry run: look at every line, write nothing'), preview, progress, trouble);
}

export function show(route, table) {
  return { nodes: h('div', { class: 'pad' }, exportSection(table, route.query.get('f') || ''), importSection(table)) };
}
