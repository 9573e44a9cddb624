// The editor of one entity: typed properties, merge or replace, what happens when somebody else was
// faster, and undo.

import { h, put, icon, toast, ask, dialog, count, visible, bytes, instant } from './dom.js';
import * as api from './api.js';
import { TYPES, problemOf, convert, entityCost } from './values.js';

const OFFERS_MAX = 12,
  PROPERTIES_MAX = 252,
  ENTITY_BYTES_MAX = 1 << 20,
  NAME_MAX = 255;
const KEYS = ['PartitionKey', 'RowKey'];
const NAME = /^[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Nd}\p{Mn}\p{Mc}\p{Pc}\p{Cf}_]*$/u;

const nameProblem = name =>
  !name
    ? 'A property needs a name.'
    : name.length > NAME_MAX
      ? 'A name has at most 255 characters.'
      : !NAME.test(name)
        ? 'A name has letters, digits and _ and begins with no digit.'
        : ['Timestamp', ...KEYS].includes(name)
          ? "This name is the service's own."
          : '';
const keyProblem = text =>
  /[/\\#?\u0000-\u001f\u007f-\u009f]/.test(text)
    ? 'A key has no / \\ # ? and no control characters.'
    : text.length > 1024 / 2
      ? 'A key has at most 1 KiB.'
      : '';

/** Delete one, with undo; whether it is gone. */
export async function removeEntity(table, entity, after) {
  try {
    await api.deleteEntity(table, entity.partition, entity.row, entity.etag);
    toast(`${visible(entity.partition)} / ${visible(entity.row)} deleted`, async () => {
      try {
        await api.insertEntity(table, entity.properties);
        toast('Put back');
      } catch (trouble) {
        toast(
          trouble.code === 'EntityAlreadyExists'
            ? 'Not undone: there is another one now.'
            : trouble.message,
        );
      }
      after?.();
    });
    return true;
  } catch (trouble) {
    toast(
      trouble.status === 412
        ? 'Not deleted: it has been changed since it was read.'
        : trouble.message,
    );
    return false;
  }
}

class Row {
  constructor(editor, name, value, isNew) {
    Object.assign(this, {
      editor,
      name,
      type: value.type,
      text: value.value,
      base: isNew ? null : { ...value },
      isRemoved: false,
      isNew,
    });
    this.node = h('div', { class: 'prop' });
    this.draw();
  }

  /** A key that is empty is a key like others, and seldom meant: an insert asks. */
  get isForgotten() {
    return this.isKey && this.editor.isInsert && this.text === '' && !this.isMeantEmpty;
  }
  get isKey() {
    return KEYS.includes(this.name) && !this.isAdded;
  }
  get isChanged() {
    return (
      this.isNew || this.isRemoved || this.type !== this.base.type || this.text !== this.base.value
    );
  }
  problem() {
    if (this.isRemoved) return '';
    if (this.isForgotten) return `${this.name} is empty.`;
    if (this.isKey) return keyProblem(this.text);
    return (
      (this.isAdded
        ? nameProblem(this.name) ||
          (this.editor.rows.some(row => row !== this && row.name === this.name && !row.isRemoved)
            ? 'There is one of this name.'
            : '')
        : '') || problemOf(this.type, this.text)
    );
  }

  draw() {
    const { editor } = this,
      isFixed = (this.isKey && !editor.isInsert) || this.name === 'Timestamp';
    const label = this.name || 'new property';
    const field =
      this.type === 'Edm.Boolean' && !isFixed && ['true', 'false'].includes(this.text)
        ? h(
            'select',
            {
              class: 'field',
              'aria-label': label,
              onchange: event => this.edit(event.target.value),
            },
            ['true', 'false'].map(text => h('option', { value: text }, text)),
          )
        : this.text.length > 80 || this.text.includes('\n')
          ? h('textarea', {
              class: 'field mono',
              rows: '4',
              'aria-label': label,
              dir: 'auto',
              oninput: event => this.edit(event.target.value),
            })
          : h('input', {
              class: 'field mono',
              type: 'text',
              'aria-label': label,
              dir: 'auto',
              autocomplete: 'off',
              oninput: event => this.edit(event.target.value),
              onkeydown: event => this.key(event),
            });
    if (!isFixed) field.value = this.text;
    this.field = isFixed ? null : field;
    this.note = h('div', { class: 'was' });
    const type = h(
      'select',
      {
        class: 'field type',
        'aria-label': `Type of ${label}`,
        disabled: this.isRemoved,
        onchange: event => {
          this.text = convert(this.text, this.type, event.target.value);
          this.type = event.target.value;
          if (this.type === 'Edm.Boolean' && !['true', 'false'].includes(this.text))
            this.text = 'false';
          this.draw();
          editor.changed();
          this.node.querySelector('.type').focus();
        },
      },
      Object.entries(TYPES).map(([id, each]) => h('option', { value: id }, each.name)),
    );
    type.value = this.type;
    put(
      this.node,
      this.isAdded
        ? h('input', {
            class: 'field mono name',
            type: 'text',
            placeholder: 'Name',
            'aria-label': 'Name of the property',
            list: 'known-names',
            value: this.name,
            oninput: event => this.rename(event.target.value),
          })
        : h('span', { class: 'name mono', title: this.name }, this.name),
      this.isKey || this.name === 'Timestamp'
        ? h('span', { class: 'tag' }, TYPES[this.type].name)
        : type,
      isFixed
        ? h(
            'span',
            { class: 'val mono', dir: 'auto' },
            this.name === 'Timestamp' ? instant(this.text) : visible(this.text),
          )
        : field,
      !this.isKey &&
        this.name !== 'Timestamp' &&
        h(
          'button',
          {
            class: 'btn quiet small',
            'aria-label': this.isRemoved ? `Put ${label} back` : `Remove ${label}`,
            title: this.isRemoved ? 'Put back' : 'Remove',
            onclick: () => {
              if (this.isAdded) editor.drop(this);
              else {
                this.isRemoved = !this.isRemoved;
                this.draw();
                editor.changed();
              }
            },
          },
          this.isRemoved ? 'Put back' : icon('close', 14),
        ),
      this.note,
    );
    this.check();
  }

  /** A name that other entities have comes with its type, while no value is typed. */
  rename(name) {
    const type = this.editor.known.find(([each]) => each === name)?.[1];
    this.name = name;
    if (type && this.text === '' && type !== this.type) {
      this.type = type;
      if (type === 'Edm.Boolean') this.text = 'false';
      this.draw();
      this.node.querySelector('.name').focus();
    }
    this.check();
    this.editor.changed();
  }

  edit(text) {
    this.text = text;
    this.check();
    this.editor.changed();
  }

  check() {
    const problem = this.problem();
    this.field?.setAttribute('aria-invalid', String(!!problem && !this.isForgotten));
    this.node.classList.toggle('changed', this.isChanged && !this.editor.isInsert);
    this.node.classList.toggle('removed', this.isRemoved);
    if (this.isKey && this.editor.isInsert && this.text === '') {
      this.askWhetherEmpty();
      return;
    }
    put(
      this.note,
      problem
        ? h('span', { class: 'bad' }, problem)
        : !this.isNew && this.isChanged && !this.isRemoved
          ? `was ${this.base.type !== this.type ? `${TYPES[this.base.type].name} ` : ''}${visible(this.base.value.slice(0, 80))}`
          : '',
    );
  }

  /** Drawn once, so that the focus of the box stays. */
  askWhetherEmpty() {
    if (this.note.querySelector('input')) return;
    put(
      this.note,
      h(
        'label',
        { class: 'row' },
        h('input', {
          type: 'checkbox',
          checked: !!this.isMeantEmpty,
          onchange: event => {
            this.isMeantEmpty = event.target.checked;
            this.check();
            this.editor.changed();
          },
        }),
        `an empty ${this.name} is meant`,
      ),
    );
  }

  key(event) {
    if (event.ctrlKey && event.key === 'Delete' && !this.isKey) {
      event.preventDefault();
      this.isRemoved = !this.isRemoved;
      this.draw();
      this.editor.changed();
    } else if (event.ctrlKey && event.key.toLowerCase() === 'd') {
      event.preventDefault();
      this.editor.add(`${this.name}_copy`, { type: this.type, value: this.text });
    }
  }
}

export class Editor {
  /** An entity that is there, or null for one to insert, like `from`; `known`: types by names of properties.  on: {close, saved(entity), removed}. */
  constructor(table, entity, { from, known, on }) {
    Object.assign(this, {
      table,
      base: entity,
      isInsert: !entity,
      isClone: !!from,
      on,
      how: 'merge',
      known: [...known].filter(
        ([name, type]) => TYPES[type] && name !== 'Timestamp' && !KEYS.includes(name),
      ),
    });
    this.offers = h('div', { class: 'row' });
    this.list = h('div', { class: 'props' });
    this.meter = h('span', { class: 'muted num' });
    this.trouble = h('div', { role: 'alert' });
    this.sends = h('p', { class: 'muted' });
    this.saveButton = h(
      'button',
      { class: 'btn primary', onclick: () => this.save() },
      this.isInsert ? 'Insert' : 'Save',
      h('kbd', null, 'Ctrl S'),
    );
    const source = entity || from;
    this.rows = [];
    const start = source
      ? [...source.properties].filter(([name]) => entity || name !== 'Timestamp')
      : KEYS.map(name => [name, { type: 'Edm.String', value: '' }]);
    this.rows = start.map(([name, value]) => new Row(this, name, value, this.isInsert));
    this.node = h(
      'div',
      { class: 'editor', onkeydown: event => this.key(event) },
      h(
        'div',
        { class: 'ihd' },
        h(
          'h2',
          { title: entity ? `${entity.partition} / ${entity.row}` : '' },
          entity
            ? `${visible(entity.partition)} / ${visible(entity.row)}`
            : from
              ? 'Clone'
              : 'Insert',
        ),
        h('span', { class: 'grow' }),
        !this.isInsert &&
          h('button', { class: 'btn quiet small', onclick: () => this.remove() }, 'Delete'),
        h(
          'button',
          { class: 'btn quiet small', 'aria-label': 'Close', onclick: () => this.close() },
          icon('close'),
        ),
      ),
      this.trouble,
      this.list,
      h(
        'div',
        { class: 'iadd' },
        h(
          'button',
          {
            class: 'btn quiet small',
            onclick: () => this.add('', { type: 'Edm.String', value: '' }),
          },
          icon('plus', 14),
          'Add a property',
        ),
        this.offers,
        h(
          'datalist',
          { id: 'known-names' },
          this.known.map(([name]) => h('option', { value: name })),
        ),
      ),
      h(
        'div',
        { class: 'ift' },
        !this.isInsert && h('div', { class: 'row' }, this.modeSwitch(), this.sends),
        h('div', { class: 'row' }, this.meter, h('span', { class: 'grow' }), this.saveButton),
      ),
    );
    this.draw();
  }

  modeSwitch() {
    const box = h('span', { class: 'seg', role: 'group', 'aria-label': 'How it is saved' });
    const draw = () =>
      put(
        box,
        [
          ['merge', 'Merge'],
          ['replace', 'Replace'],
        ].map(([how, name]) =>
          h(
            'button',
            {
              'aria-pressed': String(this.how === how),
              onclick: () => {
                this.how = how;
                draw();
                this.changed();
                box.querySelector('[aria-pressed="true"]').focus();
              },
            },
            name,
          ),
        ),
      );
    draw();
    return box;
  }

  draw() {
    put(
      this.list,
      this.rows.map(row => row.node),
    );
    this.changed();
  }

  focus() {
    const row = this.isInsert
      ? this.rows.find(each => each.name === (this.isClone ? 'RowKey' : 'PartitionKey'))
      : this.rows.find(each => each.field);
    row?.field?.focus();
    if (this.isInsert) row?.field?.select?.();
  }

  add(name, value) {
    const row = new Row(this, name, value, true);
    row.isAdded = true;
    row.draw();
    this.rows.push(row);
    this.draw();
    row.node.querySelector('.name').focus();
  }

  /** What other entities of the table have and this one has not yet. */
  offer() {
    const missing = this.known
        .filter(([name]) => !this.rows.some(row => row.name === name))
        .slice(0, OFFERS_MAX),
      names = missing.map(([name]) => name).join();
    if (names === this.offered) return;
    this.offered = names;
    put(
      this.offers,
      missing.map(([name, type]) =>
        h(
          'button',
          {
            class: 'keychip',
            'aria-label': `Add ${name}`,
            title: TYPES[type].name,
            onclick: () => this.addKnown(name, type),
          },
          `+ ${name}`,
        ),
      ),
    );
  }

  addKnown(name, type) {
    this.add(name, { type, value: type === 'Edm.Boolean' ? 'false' : '' });
    this.rows[this.rows.length - 1].field.focus();
  }

  drop(row) {
    this.rows.splice(this.rows.indexOf(row), 1);
    this.draw();
  }

  properties(rows = this.rows) {
    return new Map(
      rows
        .filter(row => !row.isRemoved && row.name !== 'Timestamp')
        .map(row => [row.name, { type: row.type, value: row.text }]),
    );
  }

  get isChanged() {
    return this.rows.some(row => row.isChanged);
  }

  changed() {
    if (!this.meter) return;
    this.offer();
    const all = this.properties(),
      number = all.size - 2,
      cost = entityCost(all);
    const problem =
      this.rows.map(row => row.problem()).find(Boolean) ||
      (number > PROPERTIES_MAX
        ? 'An entity has at most 252 properties.'
        : cost > ENTITY_BYTES_MAX
          ? 'An entity has at most 1 MiB.'
          : '');
    put(this.meter, `${count(number)} of ${PROPERTIES_MAX} properties, ${bytes(cost)} of 1 MiB`);
    const changes = this.rows.filter(row => row.isChanged && !row.isKey);
    const removed = changes.filter(row => row.isRemoved).length,
      isMerge = this.how === 'merge' && removed === 0;
    if (!this.isInsert)
      put(
        this.sends,
        this.how === 'merge'
          ? removed
            ? 'A merge cannot remove a property, so all is sent as a replace.'
            : `Sends ${count(changes.length)} changed; the others stay as they are.`
          : `Sends all ${count(number)}; what is not here goes.`,
      );
    this.sentHow = isMerge ? 'merge' : 'replace';
    this.saveButton.disabled = !!problem || (!this.isInsert && changes.length === 0);
    this.saveButton.title = problem;
  }

  key(event) {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 's') {
      event.preventDefault();
      if (!this.saveButton.disabled) this.save();
    } else if (event.key === 'Escape') {
      event.preventDefault();
      this.close();
    }
  }

  async close() {
    if (this.isChanged && !this.isInsert && !(await ask('Leave without saving?', 'Leave'))) return;
    this.on.close();
  }

  async remove() {
    if (!(await removeEntity(this.table, this.base, () => this.on.removed()))) return;
    this.on.removed();
    this.on.close();
  }

  /** Whatever goes wrong, what was typed is still there, and so is Save. */
  async save() {
    this.saveButton.disabled = true;
    put(this.trouble);
    try {
      try {
        await (this.isInsert ? this.insert() : this.update());
      } catch (trouble) {
        if (this.isInsert || ![404, 412].includes(trouble.status)) throw trouble;
        await (trouble.status === 412 ? this.conflict() : this.deletedMeanwhile());
      }
    } catch (trouble) {
      put(
        this.trouble,
        h('div', { class: 'trouble' }, h('b', null, trouble.code), ' ', trouble.message),
      );
      this.changed();
    }
  }

  /** What was written, as the service has it; it is written all the same when it cannot be read now. */
  async written(properties, etag) {
    const [partition, row] = KEYS.map(name => properties.get(name).value);
    try {
      return await api.getEntity(this.table, partition, row);
    } catch {
      return { partition, row, etag, properties };
    }
  }

  async insert() {
    const properties = this.properties(),
      entity = await this.written(properties, await api.insertEntity(this.table, properties));
    this.done(
      entity,
      `${visible(entity.partition)} / ${visible(entity.row)} inserted`,
      async () => {
        await api.deleteEntity(this.table, entity.partition, entity.row, entity.etag);
        this.on.removed();
      },
    );
  }

  async update() {
    const before = this.base,
      keys = KEYS.map(name => [name, before.properties.get(name)]);
    const sent =
      this.sentHow === 'merge'
        ? new Map([...keys, ...this.properties(this.rows.filter(row => row.isChanged))])
        : this.properties();
    const entity = await this.written(
      this.properties(),
      await api.writeEntity(this.table, this.sentHow, sent, before.etag),
    );
    this.done(entity, `${visible(entity.partition)} / ${visible(entity.row)} saved`, async () => {
      await api.writeEntity(this.table, 'replace', before.properties, entity.etag);
      this.on.saved(await api.getEntity(this.table, before.partition, before.row));
    });
  }

  done(entity, text, undo) {
    this.on.saved(entity);
    this.base = entity;
    this.isInsert = false;
    toast(text, async () => {
      try {
        await undo();
        toast('Undone');
      } catch (trouble) {
        toast(
          trouble.status === 412 || trouble.status === 404
            ? 'Not undone: it has been changed since.'
            : trouble.message,
        );
      }
    });
    this.on.close();
  }

  // --- somebody else was faster ---

  async deletedMeanwhile() {
    const again = await dialog('Deleted meanwhile', close => [
      h('h2', null, 'Someone deleted this entity while you were editing.'),
      h('p', { class: 'soft' }, 'Nothing was written.'),
      h(
        'div',
        { class: 'row end' },
        h('button', { class: 'btn', onclick: () => close(false) }, 'Drop mine'),
        h(
          'button',
          { class: 'btn primary', autofocus: true, onclick: () => close(true) },
          'Insert mine again',
        ),
      ),
    ]);
    if (again) {
      this.isInsert = true;
      await this.save();
    } else if (again === false) {
      this.on.removed();
      this.on.close();
    } else this.changed();
  }

  async conflict() {
    let theirs;
    try {
      theirs = await api.getEntity(this.table, this.base.partition, this.base.row);
    } catch (trouble) {
      if (trouble.status === 404) {
        await this.deletedMeanwhile();
        return;
      }
      throw trouble;
    }
    const base = this.base.properties,
      mine = this.properties();
    const names = [
      ...new Set([...base.keys(), ...mine.keys(), ...theirs.properties.keys()]),
    ].filter(name => !KEYS.includes(name) && name !== 'Timestamp');
    const same = (a, b) => (!a && !b) || (!!a && !!b && a.type === b.type && a.value === b.value);
    const choices = new Map(),
      shown = value => (value ? `${visible(value.value.slice(0, 300))}` : '–');
    const differing = names.filter(
      name =>
        !same(base.get(name), mine.get(name)) || !same(base.get(name), theirs.properties.get(name)),
    );
    for (const name of differing) {
      const iChanged = !same(base.get(name), mine.get(name)),
        theyChanged = !same(base.get(name), theirs.properties.get(name));
      choices.set(
        name,
        iChanged && theyChanged && !same(mine.get(name), theirs.properties.get(name))
          ? null
          : iChanged
            ? 'mine'
            : 'theirs',
      );
    }
    const isSaved = await dialog(
      'Conflict',
      close => {
        const save = h('button', { class: 'btn primary', onclick: () => close(true) }, 'Save');
        const sentenceBox = h('p', { class: 'soft' });
        const draw = () => {
          const open = [...choices].filter(([, choice]) => choice === null).map(([name]) => name);
          save.disabled = open.length > 0;
          put(
            sentenceBox,
            `Nothing was written (412). ${open.length ? `Choose a value for ${open.join(', ')}.` : 'Save writes what is chosen, if it is still as shown.'}`,
          );
        };
        const pick = (name, side, value) =>
          h(
            'label',
            null,
            h('input', {
              type: 'radio',
              name: `pick-${name}`,
              checked: choices.get(name) === side,
              onchange: () => {
                choices.set(name, side);
                draw();
              },
            }),
            h('span', { class: 'mono' }, shown(value)),
          );
        draw();
        return [
          h('h2', null, 'Someone saved this entity while you were editing.'),
          sentenceBox,
          h(
            'div',
            { class: 'scroll' },
            h(
              'table',
              { class: 'list conflict' },
              h(
                'thead',
                null,
                h(
                  'tr',
                  null,
                  ['Property', 'Base', 'Yours', 'Theirs'].map(name =>
                    h('th', { scope: 'col' }, name),
                  ),
                ),
              ),
              h(
                'tbody',
                null,
                differing.map(name =>
                  h(
                    'tr',
                    { class: choices.get(name) === null ? 'both' : 'one' },
                    h('th', { scope: 'row' }, name),
                    h('td', { class: 'mono' }, shown(base.get(name))),
                    h('td', null, pick(name, 'mine', mine.get(name))),
                    h('td', null, pick(name, 'theirs', theirs.properties.get(name))),
                  ),
                ),
              ),
            ),
          ),
          names.length > differing.length &&
            h(
              'p',
              { class: 'muted' },
              `${count(names.length - differing.length)} more are the same.`,
            ),
          h(
            'div',
            { class: 'row end' },
            h('button', { class: 'btn', onclick: () => close(false) }, 'Back to editing'),
            save,
          ),
        ];
      },
      true,
    );
    if (!isSaved) {
      this.changed();
      return;
    }
    const merged = new Map(theirs.properties);
    for (const [name, side] of choices) {
      const value = side === 'mine' ? mine.get(name) : theirs.properties.get(name);
      if (value) merged.set(name, value);
      else merged.delete(name);
    }
    const before = theirs;
    let etag;
    try {
      etag = await api.writeEntity(this.table, 'replace', merged, theirs.etag);
    } catch (trouble) {
      if (trouble.status === 412) {
        await this.conflict();
        return;
      }
      throw trouble;
    }
    const entity = await this.written(merged, etag);
    this.done(entity, `${visible(entity.partition)} / ${visible(entity.row)} saved`, async () => {
      await api.writeEntity(this.table, 'replace', before.properties, entity.etag);
      this.on.saved(await api.getEntity(this.table, before.partition, before.row));
    });
  }
}
