// Import of a file into a table, in batches.  How far it has come is kept in this browser, so that an
// import that was stopped, has failed or whose page was left goes on where it was.
//
//  - All lines up to `line` of what is kept are done: written, skipped or bad.
//  - An entity that stands twice in a file is written in the order of the file.

import { h, put, count, plural, bytes, say } from './dom.js';
import * as api from './api.js';
import { troubleBox } from './frame.js';
import { refreshTree } from './names.js';
import { readFile } from './transfer.js';
import { entityCost } from './values.js';
import { save } from './save.js';
import { typeChooser, LOOKED_AT } from './import_types.js';

const IN_FLIGHT = 4,
  BATCH_BYTES = 3 << 20,
  BATCH_MAX = 100,
  BAD_MAX = 2000;

// --- what is kept of an import that has not ended ---

const storeOf = table => `tavola.import.${api.currentAccount()}.${table}`;
const sameFile = (state, file) =>
  state.name === file.name && state.size === file.size && state.modified === file.lastModified;

function stateOf(table, file) {
  try {
    const state = JSON.parse(localStorage.getItem(storeOf(table)));
    return state && sameFile(state, file) ? state : null;
  } catch {
    return null;
  }
}

const freshState = (file, how, types) => ({
  name: file.name,
  size: file.size,
  modified: file.lastModified,
  how,
  types: [...types],
  line: 0,
  done: 0,
  skipped: 0,
  bad: [],
});

/** Whether the service has refused a line for what is in it. */
const isLinesFault = error =>
  error.status >= 400 && error.status < 500 && ![401, 404, 408, 429].includes(error.status);

// A Double and a DateTime have more than one text.
const sameValue = (stored, type, value) =>
  stored?.type === type &&
  (stored.value === value ||
    (type === 'Edm.Double' && Number(stored.value) === Number(value)) ||
    (type === 'Edm.DateTime' && Date.parse(stored.value) === Date.parse(value)) ||
    (type === 'Edm.Guid' && stored.value.toLowerCase() === value.toLowerCase()));

// --- one run ---

class Run {
  /** `state`: where to begin; on.progress() after each batch. */
  constructor(table, file, state, on) {
    Object.assign(this, {
      table,
      file,
      state,
      on,
      bad: [],
      head: '',
      groups: new Set(),
      group: null,
      finished: [],
      readLine: 0,
      readChars: 0,
      isStopped: false,
      failure: null,
    });
  }

  stop() {
    this.isStopped = true;
  }

  /**
   * Everything before the first line that is on its way is done.  What was done behind it is counted when
   * that line is: it would be sent again.
   */
  settle() {
    const { state } = this,
      open = [...this.groups, ...(this.group ? [this.group] : [])].map(
        group => group.entries[0].line,
      );
    state.line = Math.max(state.line, open.length ? Math.min(...open) - 1 : this.readLine);
    this.finished = this.finished.filter(group => {
      if (group.entries[0].line > state.line) return true;
      state.done += group.done;
      state.skipped += group.skipped;
      return false;
    });
    if (!this.isDry) localStorage.setItem(storeOf(this.table), JSON.stringify(state));
    this.on.progress();
  }

  addBad(entry) {
    this.bad.push(entry);
    if (!this.state.bad.some(([line]) => line === entry.line))
      this.state.bad.push([entry.line, entry.problem]);
    if (this.bad.length >= BAD_MAX)
      this.failure = new Error(
        `${count(BAD_MAX)} lines are bad; the first is line ${count(this.bad[0].line)}, which ${this.bad[0].problem}.`,
      );
  }

  async sendOne(entry, group) {
    const { how } = this.state;
    try {
      if (how === 'insert' || how === 'fail') await api.insertEntity(this.table, entry.properties);
      else
        await api.writeEntity(
          this.table,
          how === 'merge' ? 'merge' : 'replace',
          entry.properties,
          null,
        );
      group.done++;
    } catch (error) {
      if (error.code === 'EntityAlreadyExists' && how === 'insert') group.skipped++;
      else if (
        error.code === 'EntityAlreadyExists' &&
        this.isResumed &&
        (await this.isStored(entry))
      )
        group.done++;
      else if (isLinesFault(error))
        this.addBad({ ...entry, problem: `${error.code}: ${error.message}` });
      else throw error;
    }
  }

  /** Whether the table has an entity just so: then it is one of those that were written behind the line at which an import ended. */
  async isStored({ properties }) {
    const { properties: stored } = await api.getEntity(
      this.table,
      properties.get('PartitionKey').value,
      properties.get('RowKey').value,
    );
    return (
      stored.size === properties.size + 1 &&
      [...properties].every(([name, { type, value }]) => sameValue(stored.get(name), type, value))
    );
  }

  /** A batch that fails as a whole is sent again one by one: so each line has its own outcome. */
  async sendGroup(group) {
    const how = { insert: 'insert', fail: 'insert', merge: 'upmerge', upsert: 'upsert' }[
      this.state.how
    ];
    try {
      await api.sendBatch(
        this.table,
        group.entries.map(entry => ({ how, properties: entry.properties })),
      );
      group.done = group.entries.length;
    } catch (error) {
      if (!isLinesFault(error)) throw error;
      for (const entry of group.entries) await this.sendOne(entry, group);
    }
  }

  /** Send what is gathered, when there is room for it. */
  async flush() {
    const { group } = this;
    if (!group) return;
    this.group = null;
    this.groups.add(group);
    while (this.groups.size > IN_FLIGHT && !this.failure)
      await Promise.race([...this.groups].map(each => each.task).filter(Boolean));
    if (this.failure) return; // it stays among those that are not done
    group.task = this.sendGroup(group).then(
      () => {
        this.groups.delete(group);
        this.finished.push(group);
        this.settle();
      },
      error => {
        this.failure = error;
      },
    );
  }

  async add(entry) {
    const partition = entry.properties.get('PartitionKey').value,
      row = entry.properties.get('RowKey').value,
      cost = entityCost(entry.properties);
    const { group } = this;
    if (
      group &&
      (group.partition !== partition ||
        group.entries.length === BATCH_MAX ||
        group.cost + cost > BATCH_BYTES ||
        group.rows.has(row))
    )
      await this.flush();
    const before = [...this.groups].filter(
      each => each.partition === partition && each.rows.has(row),
    );
    if (before.length) await Promise.all(before.map(each => each.task));
    this.group ||= { partition, entries: [], rows: new Set(), cost: 0, done: 0, skipped: 0 };
    this.group.entries.push(entry);
    this.group.rows.add(row);
    this.group.cost += cost;
  }

  /** True when the file has been read to its end. */
  async go(isDry) {
    const kept = new Map(this.state.bad),
      skip = this.state.line;
    Object.assign(this, { isDry, isResumed: skip > 0 });
    this.began = performance.now();
    this.doneBefore = this.state.done;
    for await (const entry of readFile(this.file, {
      skip,
      kept,
      types: new Map(this.state.types),
    })) {
      if (this.isStopped || this.failure) break;
      this.readChars += (entry.text || entry.head).length + 1;
      if (entry.head !== undefined) this.head = entry.head;
      else if (!entry.properties) this.addBad(entry);
      else if (isDry) {
        if (++this.state.done % 5000 === 0) {
          this.on.progress();
          await new Promise(resolve => setTimeout(resolve));
        }
      } else await this.add(entry);
      this.readLine = entry.line;
    }
    if (!this.isStopped && !this.failure) await this.flush();
    await Promise.all([...this.groups].map(each => each.task));
    if (!isDry) this.settle();
    if (this.failure) throw this.failure;
    if (this.isStopped) return false;
    localStorage.removeItem(storeOf(this.table));
    return true;
  }

  /** "40,112 entities, 8,200/s, 2 bad lines". */
  words() {
    const sum = name =>
        this.finished.reduce((total, group) => total + group[name], this.state[name]),
      done = sum('done'),
      skipped = sum('skipped'),
      seconds = Math.max(0.001, (performance.now() - this.began) / 1000);
    return [
      plural(done, 'entity', 'entities'),
      `${count((done - this.doneBefore) / seconds)}/s`,
      skipped && `${count(skipped)} were there`,
      this.bad.length && plural(this.bad.length, 'bad line'),
    ]
      .filter(Boolean)
      .join(', ');
  }
}

// --- the section ---

export function importSection(table) {
  const picker = h('input', {
    type: 'file',
    'aria-label': 'File to import',
    accept: '.csv,.ndjson,.jsonl,.json,.txt',
  });
  const conflict = h(
    'select',
    { class: 'field', 'aria-label': 'When an entity is there already' },
    [
      ['fail', 'What is there already is a bad line'],
      ['insert', 'Leave what is there'],
      ['merge', 'Merge into what is there'],
      ['upsert', 'Replace what is there'],
    ].map(([id, name]) => h('option', { value: id }, name)),
  );
  const dry = h('input', { type: 'checkbox' });
  const preview = h('div'),
    typesBox = h('div'),
    bar = h('progress', { 'aria-label': 'How much of the file is read', max: '1', hidden: true }),
    progress = h('p', { role: 'status' }),
    trouble = h('div'),
    again = h('div', { class: 'row' });
  const button = h(
    'button',
    { class: 'btn primary', disabled: true, onclick: () => (run ? run.stop() : begin(null)) },
    'Import',
  );
  let run = null,
    chooser = null;

  /** Types of the table's properties, as far as it has one for a name. */
  async function typesOfTable() {
    const facts = await api
      .getJson(
        `/facts?account=${encodeURIComponent(api.currentAccount())}&table=${encodeURIComponent(table)}`,
      )
      .catch(() => ({}));
    return new Map(
      (facts.properties || [])
        .map(({ name, types }) => [name, Object.keys(types).filter(type => types[type])])
        .filter(([, types]) => types.length === 1)
        .map(([name, [type]]) => [name, type]),
    );
  }

  async function look() {
    const file = picker.files[0],
      looked = [];
    let columns = [];
    button.disabled = true;
    put(trouble);
    put(progress);
    for await (const entry of readFile(file)) {
      if (entry.head === undefined) looked.push(entry);
      else ({ columns } = entry);
      if (looked.length === LOOKED_AT) break;
    }
    chooser = typeChooser(
      columns,
      looked.filter(entry => entry.properties).map(entry => entry.properties),
      await typesOfTable(),
    );
    put(typesBox, chooser?.node);
    const rows = looked.slice(0, 20);
    const names = [
      ...new Set(rows.flatMap(entry => (entry.properties ? [...entry.properties.keys()] : []))),
    ];
    put(
      preview,
      h('p', { class: 'muted' }, `${file.name}, ${bytes(file.size)}. The first ${rows.length}:`),
      h(
        'div',
        { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'The first lines' },
        h(
          'table',
          { class: 'list' },
          h(
            'thead',
            null,
            h(
              'tr',
              null,
              names.map(name => h('th', { scope: 'col' }, name)),
            ),
          ),
          h(
            'tbody',
            null,
            rows.map(entry =>
              entry.properties
                ? h(
                    'tr',
                    null,
                    names.map(name =>
                      h(
                        'td',
                        { class: 'mono', dir: 'auto' },
                        (entry.properties.get(name)?.value ?? '–').slice(0, 60),
                      ),
                    ),
                  )
                : h(
                    'tr',
                    null,
                    h(
                      'td',
                      { class: 'bad', colspan: names.length || 1 },
                      `Line ${count(entry.line)} ${entry.problem}`,
                    ),
                  ),
            ),
          ),
        ),
      ),
    );
    button.disabled = rows.length === 0;
    offerToGoOn();
  }

  /** An import of this very file has not come to its end: it can go on. */
  function offerToGoOn() {
    const state = picker.files[0] && stateOf(table, picker.files[0]);
    put(
      again,
      state &&
        state.line > 0 && [
          h(
            'span',
            null,
            `Up to line ${count(state.line)} this file is imported: ${plural(state.done, 'entity', 'entities')}${state.bad.length ? `, ${plural(state.bad.length, 'bad line')}` : ''}.`,
          ),
          h(
            'button',
            { class: 'btn small primary', onclick: () => begin(state) },
            `Go on from line ${count(state.line + 1)}`,
          ),
        ],
    );
    nameButton();
    button.className = again.firstChild ? 'btn' : 'btn primary';
  }

  function nameButton() {
    put(
      button,
      `${again.firstChild ? 'Import from the start' : 'Import'}${chooser ? ' with these types' : ''}`,
    );
  }

  function showBad(file, bad, head) {
    if (!bad.length) return [];
    const stem = file.name.replace(/\.[^.]*$/, ''),
      ending = file.name.split('.').pop();
    return [
      ' ',
      h(
        'button',
        {
          class: 'btn small',
          onclick: () =>
            save(
              [head ? `${head}\n` : '', ...bad.map(entry => `${entry.text}\n`)],
              `${stem}.bad.${ending}`,
            ),
        },
        'Save the bad lines',
      ),
      ' ',
      h(
        'button',
        {
          class: 'btn quiet small',
          onclick: () =>
            save(
              bad.map(
                ({ line, problem, text }) => `${JSON.stringify({ line, error: problem, text })}\n`,
              ),
              `${stem}.errors.ndjson`,
            ),
        },
        'Save what is wrong with them',
      ),
      h('span', { class: 'muted' }, ` Line ${count(bad[0].line)} ${bad[0].problem}`),
    ];
  }

  async function begin(state) {
    const file = picker.files[0],
      isDry = dry.checked && !state;
    if (state) conflict.value = state.how;
    const mine = new Run(
      table,
      file,
      state || freshState(file, conflict.value, chooser?.types() || []),
      {
        progress: () => {
          if (run === mine) draw();
        },
      },
    );
    const draw = () => {
      bar.value = Math.min(1, mine.readChars / Math.max(1, file.size));
      put(progress, mine.words());
    };
    run = mine;
    button.className = 'btn primary';
    put(button, 'Stop');
    put(trouble);
    put(again);
    bar.hidden = false;
    addEventListener('beforeunload', warn);
    try {
      const isWhole = await mine.go(isDry),
        { done, skipped, line } = mine.state;
      put(
        progress,
        `${isWhole ? '' : `Stopped after line ${count(line)}: `}${plural(done, 'entity', 'entities')} ${isDry ? 'can be imported' : 'imported'}${skipped ? `, ${count(skipped)} were there already` : ''}${mine.bad.length ? `, ${plural(mine.bad.length, 'bad line')}:` : '.'}`,
        showBad(file, mine.bad, mine.head),
      );
      say('The import has ended.');
    } catch (error) {
      put(trouble, troubleBox(error));
      put(
        progress,
        `Up to line ${count(mine.state.line)} all is done: ${plural(mine.state.done, 'entity', 'entities')}.`,
        showBad(file, mine.bad, mine.head),
      );
    }
    removeEventListener('beforeunload', warn);
    run = null;
    bar.hidden = true;
    offerToGoOn();
    refreshTree().catch(() => {});
  }

  // The browser asks whether the page is to be left; if so, the import goes on the next time.
  const warn = event => event.preventDefault();

  picker.addEventListener('change', () => {
    if (picker.files[0])
      look().catch(error => {
        button.disabled = true;
        put(preview);
        put(typesBox);
        put(trouble, troubleBox(error));
      });
  });
  return {
    node: h(
      'section',
      { class: 'card io', 'aria-label': 'Import' },
      h('h2', null, 'Import'),
      h(
        'p',
        { class: 'soft' },
        'CSV with types (as exported, or Name:Type in the header) or without, or one JSON object a line.',
      ),
      h('div', { class: 'row' }, picker, conflict, button),
      h('label', { class: 'row' }, dry, 'Dry run: look at every line, write nothing'),
      again,
      typesBox,
      preview,
      bar,
      progress,
      trouble,
    ),
    leave: () => {
      run?.stop();
      removeEventListener('beforeunload', warn);
    },
  };
}
