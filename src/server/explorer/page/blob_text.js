// The text of a small blob, to look at and to change.

import { h, put, bytes, toast, ask } from './dom.js';
import { troubleBox } from './frame.js';
import { writeText } from './blobs.js';
import { isHeaderText } from './metadata.js';

/** Of a longer one the beginning is shown. */
export const TEXT_MAX = 1 << 20;

const drafts = new Map(); // what was typed and not saved when a blob was left

/** What a text field can hold and give back as it was: {text, ends}, or {why} not. */
export function editable(blob, data) {
  if (blob.snapshot) return { why: 'A snapshot cannot be changed.' };
  if (blob.kind !== 'BlockBlob') return { why: 'Only block blobs can be changed here.' };
  if (blob.size > data.length)
    return { why: `Only texts of up to ${bytes(TEXT_MAX)} can be changed here.` };
  if (blob.headers['Content-Encoding'])
    return { why: `It is stored as ${blob.headers['Content-Encoding']}.` };
  if (/charset=(?!"?utf-?8|"?us-ascii)/i.test(blob.headers['Content-Type']))
    return { why: 'Its type says that it is not UTF-8.' };
  if (!blob.metadata.every(([, value]) => isHeaderText(value)))
    return { why: 'Its metadata have characters that a browser does not send.' };
  let text;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    return { why: 'It is not UTF-8.' };
  }
  if (text.includes('\0')) return { why: 'It has bytes that are no text.' };
  const rest = text.replaceAll('\r\n', '');
  if (rest.includes('\r') || (rest.includes('\n') && rest !== text))
    return { why: 'Its lines end in different ways, which a text field would change.' };
  return { text: text.replaceAll('\r\n', '\n'), ends: rest === text ? '\n' : '\r\n' };
}

/** {node, moved, leave}: `saved(written)` is told of what was written, `again()` reads the blob anew; moved(etag): this page has changed something else of it. */
export function textEditor(container, blob, { text, ends }, { saved, again }) {
  const key = [container, blob.name].join('/'),
    draft = drafts.get(key);
  const field = h('textarea', {
    class: 'field mono text',
    rows: Math.min(28, Math.max(6, text.split('\n').length + 1)),
    'aria-label': `Text of ${blob.name}`,
    dir: 'auto',
    spellcheck: 'false',
    autocomplete: 'off',
  });
  const trouble = h('div', { role: 'alert' }),
    note = h('span', { class: 'muted' });
  const button = h(
    'button',
    { class: 'btn primary', onclick: () => save() },
    'Save',
    h('kbd', null, 'Ctrl S'),
  );
  let read = draft?.read ?? text,
    etag = draft?.etag ?? blob.etag;
  drafts.delete(key);
  field.value = draft?.text ?? text;

  const changed = () => {
    button.disabled = field.value === read;
    put(note, field.value === read ? '' : 'Not saved');
  };

  async function save(over) {
    const now = field.value;
    if (!over && now === read) return;
    put(trouble);
    button.disabled = true;
    try {
      const written = await writeText(
        container,
        { ...blob, etag: over ? '*' : etag },
        now.replaceAll('\n', ends),
      );
      etag = written.etag;
      read = now;
      toast('Saved');
      saved(written);
    } catch (error) {
      put(trouble, error.code === 'ConditionNotMet' ? conflict() : troubleBox(error));
    }
    changed();
  }

  // Of properties and metadata, too, somebody else's would be lost.
  const conflict = () =>
    h(
      'div',
      { class: 'trouble' },
      h('h2', null, 'It has been changed since it was read'),
      h('p', null, 'Nothing was written. Your text is still below.'),
      h(
        'div',
        { class: 'row gapped' },
        h(
          'button',
          {
            class: 'btn',
            onclick: async () => {
              if (await ask('Read it again? What you have typed is lost.', 'Read it again')) {
                field.value = read;
                again();
              }
            },
          },
          'Read it again',
        ),
        h(
          'button',
          {
            class: 'btn',
            onclick: async () => {
              if (
                await ask(
                  `Replace what ${blob.name} says now by your text?`,
                  'Replace it',
                  'Its properties and metadata become those that you see here.',
                )
              )
                save(true);
            },
          },
          'Write mine over it',
        ),
      ),
    );

  field.addEventListener('input', changed);
  field.addEventListener('keydown', event => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 's') {
      event.preventDefault();
      save();
    }
  });
  changed();
  return {
    node: h(
      'div',
      null,
      trouble,
      field,
      h(
        'div',
        { class: 'row gapped' },
        button,
        note,
        h('span', { class: 'grow' }),
        ends === '\r\n' && h('span', { class: 'muted' }, 'Lines end with CR LF.'),
      ),
    ),
    moved: now => {
      etag = now;
    },
    leave: () => {
      if (field.value !== read) drafts.set(key, { text: field.value, read, etag });
    },
  };
}
