// A blob, or a snapshot of it: what it says, its properties, metadata and snapshots.

import { h, put, bytes, plural, toast, ask, instant, visible } from './dom.js';
import * as api from './api.js';
import * as blobs from './blobs.js';
import { topBar, troubleBox } from './frame.js';
import { link } from './route.js';
import { isHeaderText, metadataForm } from './metadata.js';
import { editable, textEditor, TEXT_MAX } from './blob_text.js';

export const blobLink = (container, name, snapshot = '') =>
  link('b', container, ...name.split('/'), { s: snapshot });
export const folderLink = (container, prefix) => link('c', container, ...prefix.split('/'));
const timeOf = text => text && instant(new Date(text).toISOString());

/** "photos / 2026 / ada.txt", with links to what is above. */
export function crumbs(container, name) {
  const parts = name.split('/');
  return h(
    'p',
    { class: 'crumbs' },
    h('a', { href: link('c', container) }, container),
    parts.map(
      (part, i) =>
        part !== '' && [
          ' / ',
          i === parts.length - 1
            ? visible(part)
            : h(
                'a',
                { href: folderLink(container, `${parts.slice(0, i + 1).join('/')}/`) },
                visible(part),
              ),
        ],
    ),
  );
}

/** Delete a blob that was meant; with its snapshots, if it has some.  Whether it is gone. */
export async function removeBlob(container, blob) {
  if (
    !(await ask(
      `Delete ${blob.snapshot ? `the snapshot of ${timeOf(blob.snapshot)}` : blob.name}? This cannot be undone.`,
      'Delete',
    ))
  )
    return false;
  try {
    await blobs.deleteBlob(container, blob);
  } catch (error) {
    if (error.code !== 'SnapshotsPresent') throw error;
    if (!(await ask(`${blob.name} has snapshots. Delete it with all of them?`, 'Delete all')))
      return false;
    await blobs.deleteBlob(container, blob, true);
  }
  toast(`${blob.snapshot ? 'Snapshot' : blob.name} deleted`);
  return true;
}

// --- what it says ---

function picture(data) {
  const type =
    data[0] === 0x89 && data[1] === 0x50
      ? 'image/png'
      : data[0] === 0xff && data[1] === 0xd8
        ? 'image/jpeg'
        : '';
  return type && URL.createObjectURL(new Blob([data], { type }));
}

/** {node, leave, moved}: a picture, a text, an editor, or a word of why not. */
function content(container, blob, data, on) {
  const url = picture(data),
    text = editable(blob, data),
    isCut = blob.size > data.length;
  if (url)
    return {
      node: h('img', { class: 'picture', src: url, alt: blob.name }),
      leave: () => URL.revokeObjectURL(url),
    };
  if (text.text !== undefined) return textEditor(container, blob, text, on);
  if (data.slice(0, 4096).includes(0))
    return { node: h('p', null, 'These are bytes, not text. Download it.') };
  return {
    node: [
      h(
        'pre',
        { class: 'whole', tabindex: '0', role: 'region', 'aria-label': blob.name, dir: 'auto' },
        new TextDecoder().decode(data),
      ),
      h(
        'p',
        { class: 'muted' },
        isCut && `The first ${bytes(TEXT_MAX)} of ${bytes(blob.size)}. `,
        text.why,
      ),
    ],
  };
}

// --- properties and metadata ---

function facts(blob) {
  const known = {
    Kind: blob.kind,
    Size: blob.size < 1000 ? bytes(blob.size) : `${bytes(blob.size)}, ${plural(blob.size, 'byte')}`,
    Created: timeOf(blob.created),
    Changed: timeOf(blob.changed),
    ETag: blob.etag,
    'Content-MD5': blob.headers['Content-MD5'],
    Lease: blob.lease && [blob.lease, blob.leaseDuration].filter(Boolean).join(', '),
    Tier: blob.tier,
    'Copied from': blob.copySource,
    'Copied at': timeOf(blob.copied),
  };
  return h(
    'dl',
    { class: 'kv left' },
    Object.entries(known)
      .filter(([, value]) => value)
      .map(([name, value]) => [h('dt', null, name), h('dd', { dir: 'auto' }, value)]),
  );
}

const EDITED = Object.keys(blobs.HEADERS).filter(name => name !== 'Content-MD5');

function properties(blob, save) {
  const fields = EDITED.map(name =>
      h('input', {
        class: 'field mono',
        type: 'text',
        'aria-label': name,
        value: blob.headers[name],
        disabled: !!blob.snapshot,
        autocomplete: 'off',
      }),
    ),
    problem = h('span', { class: 'bad', role: 'alert' });
  const submit = event => {
    event.preventDefault();
    const bad = fields.findIndex(field => !isHeaderText(field.value));
    put(problem, bad >= 0 && `${EDITED[bad]} has characters that a header cannot have.`);
    if (bad < 0)
      save({
        ...blob.headers,
        ...Object.fromEntries(EDITED.map((name, i) => [name, fields[i].value.trim()])),
      });
  };
  return h(
    'form',
    { class: 'pairs', onsubmit: submit },
    EDITED.map((name, i) => h('label', null, h('span', null, name), fields[i])),
    !blob.snapshot &&
      h(
        'div',
        { class: 'row' },
        h('button', { class: 'btn', type: 'submit' }, 'Save properties'),
        problem,
      ),
  );
}

// --- snapshots ---

function snapshotList(container, { blob, snapshots, shown }, { take, promote, remove }) {
  return [
    h(
      'div',
      { class: 'row gapped' },
      h('h2', null, 'Snapshots'),
      h(
        'span',
        { class: 'muted' },
        snapshots.length ? plural(snapshots.length, 'snapshot') : 'None.',
      ),
      h('span', { class: 'grow' }),
      h('button', { class: 'btn', onclick: take }, 'Take a snapshot'),
    ),
    snapshots.length > 0 &&
      h(
        'div',
        { class: 'scrollx' },
        h(
          'table',
          { class: 'list mid stack' },
          h(
            'thead',
            null,
            h(
              'tr',
              null,
              ['Taken', 'Size', 'Type', ''].map(name =>
                h('th', { scope: 'col' }, name || h('span', { class: 'sr' }, 'Actions')),
              ),
            ),
          ),
          h(
            'tbody',
            null,
            snapshots.map(each =>
              h(
                'tr',
                null,
                h(
                  'td',
                  { class: 'nowrap', 'data-name': 'Taken' },
                  each === shown
                    ? h('b', null, timeOf(each.snapshot))
                    : h(
                        'a',
                        { href: blobLink(container, blob.name, each.snapshot) },
                        timeOf(each.snapshot),
                      ),
                ),
                h('td', { 'data-name': 'Size' }, bytes(each.size)),
                h('td', { 'data-name': 'Type' }, each.headers['Content-Type']),
                h(
                  'td',
                  { class: 'r' },
                  h(
                    'button',
                    {
                      class: 'btn quiet small',
                      'aria-label': `Promote the snapshot of ${timeOf(each.snapshot)}`,
                      onclick: () => promote(each),
                    },
                    'Promote',
                  ),
                  h(
                    'button',
                    {
                      class: 'btn quiet small',
                      'aria-label': `Delete the snapshot of ${timeOf(each.snapshot)}`,
                      onclick: () => remove(each),
                    },
                    'Delete',
                  ),
                ),
              ),
            ),
          ),
        ),
      ),
  ];
}

// --- the view ---

/** The blob as it is now, its snapshots, and the bytes of what is to be shown: all of one state. */
async function readState(container, name, snapshot) {
  for (let attempt = 1; ; attempt++) {
    const all = await blobs.versionsOf(container, name),
      shown = snapshot ? all.snapshots.find(each => each.snapshot === snapshot) : all.blob;
    if (!shown)
      throw new api.Trouble(
        404,
        'BlobNotFound',
        snapshot ? 'There is no such snapshot any more.' : 'There is no such blob any more.',
      );
    try {
      return { ...all, shown, data: await blobs.readBytes(container, shown, TEXT_MAX) };
    } catch (error) {
      if (error.status !== 412 || attempt === 3) throw error;
    }
  }
}

class BlobView {
  constructor(container, name, snapshot) {
    Object.assign(this, {
      container,
      name,
      snapshot,
      line: h('span'),
      trouble: h('div', { role: 'alert' }),
      said: h('section'),
      set: h('section', { class: 'halves sect' }),
      kept: h('section', { class: 'sect' }),
      turn: 0,
    });
  }

  async load() {
    const mine = ++this.turn,
      state = await readState(this.container, this.name, this.snapshot);
    if (mine !== this.turn) return;
    this.content?.leave?.();
    Object.assign(this, state);
    this.content = content(this.container, state.shown, state.data, {
      saved: written => this.follow(written),
      again: () => this.try(() => this.load()),
    });
    put(this.said, this.content.node);
    this.draw();
  }

  draw() {
    const { shown, container } = this;
    put(
      this.line,
      [
        shown.kind.replace('Blob', ' blob').toLowerCase(),
        shown.headers['Content-Type'],
        bytes(shown.size),
        shown.snapshot && `snapshot of ${timeOf(shown.snapshot)}`,
      ]
        .filter(Boolean)
        .join(', '),
    );
    put(
      this.set,
      h(
        'div',
        null,
        h('h2', null, 'Properties'),
        facts(shown),
        properties(shown, headers =>
          this.change('Properties saved', blobs.setHeaders(container, shown, headers), { headers }),
        ),
      ),
      h(
        'div',
        null,
        h('h2', null, 'Metadata'),
        metadataForm(
          shown.metadata,
          !shown.snapshot &&
            (rows =>
              this.change('Metadata saved', blobs.setMetadata(container, shown, rows), {
                metadata: rows,
              })),
        ),
      ),
    );
    this.drawSnapshots();
  }

  drawSnapshots() {
    put(
      this.kept,
      snapshotList(this.container, this, {
        take: () =>
          this.try(async () => {
            await blobs.takeSnapshot(this.container, this.blob);
            toast('Snapshot taken');
            await this.readSnapshots();
          }),
        promote: each => this.try(() => this.promote(each)),
        remove: each => this.try(() => this.remove(each)),
      }),
    );
  }

  async readSnapshots() {
    this.snapshots = (await blobs.versionsOf(this.container, this.name)).snapshots;
    this.drawSnapshots();
  }

  async promote(each) {
    if (
      !(await ask(
        `Make ${this.name} what it was in the snapshot of ${timeOf(each.snapshot)}?`,
        'Promote',
        'Its content, properties and metadata of now are replaced. To keep them, take a snapshot first.',
      ))
    )
      return;
    await blobs.promote(this.container, this.blob, each.snapshot);
    toast('Promoted');
    if (this.snapshot) location.hash = blobLink(this.container, this.name);
    else await this.load();
  }

  async remove(blob) {
    if (!(await removeBlob(this.container, blob))) return;
    if (!blob.snapshot)
      location.hash = folderLink(
        this.container,
        this.name.slice(0, this.name.lastIndexOf('/') + 1),
      );
    else if (blob.snapshot === this.snapshot) location.hash = blobLink(this.container, this.name);
    else await this.readSnapshots();
  }

  /** Something was written that only this page can have written: what it shows besides still holds. */
  follow({ etag, size = this.shown.size, md5 = this.shown.headers['Content-MD5'] }) {
    Object.assign(this.shown, {
      etag,
      size,
      changed: new Date().toUTCString(),
      headers: { ...this.shown.headers, 'Content-MD5': md5 },
    });
    put(this.set.querySelector('dl'), ...facts(this.shown).childNodes);
  }

  change(done, written, changes) {
    return this.try(async () => {
      const etag = await written;
      Object.assign(this.shown, changes);
      this.follow({ etag });
      this.content.moved?.(etag);
      toast(done);
    });
  }

  async try(act) {
    put(this.trouble);
    try {
      await act();
    } catch (error) {
      put(
        this.trouble,
        error.code === 'ConditionNotMet'
          ? h(
              'div',
              { class: 'trouble' },
              h('h2', null, 'It has been changed since it was read'),
              h('p', null, 'Nothing was written.'),
              h(
                'button',
                { class: 'btn', onclick: () => this.try(() => this.load()) },
                'Read it again',
              ),
            )
          : troubleBox(error),
      );
    }
  }
}

export async function show(route) {
  const [, container, ...rest] = route.parts,
    name = rest.join('/'),
    snapshot = route.query.get('s') || '';
  const view = new BlobView(container, name, snapshot);
  await view.load();
  return {
    nodes: [
      topBar(
        name.split('/').pop() || name,
        view.line,
        h(
          'button',
          { class: 'btn', onclick: () => view.try(() => blobs.download(container, view.shown)) },
          'Download',
        ),
        h(
          'button',
          { class: 'btn quiet', onclick: () => view.try(() => view.remove(view.shown)) },
          snapshot ? 'Delete snapshot' : 'Delete blob',
        ),
      ),
      h(
        'div',
        { class: 'pad' },
        crumbs(container, name),
        snapshot &&
          h(
            'p',
            null,
            'A snapshot, as it was then. ',
            h('a', { href: blobLink(container, name) }, 'The blob of now'),
          ),
        view.trouble,
        view.said,
        view.set,
        view.kept,
      ),
    ],
    leave: () => {
      view.turn++;
      view.content.leave?.();
    },
    shown: () => {
      if (document.activeElement === document.body)
        document.getElementById('main').focus({ preventScroll: true });
    },
  };
}
