// A container of blobs: its folders, upload and download.

import { h, put, stacked, icon, bytes, plural, toast, ask, instant, visible } from './dom.js';
import * as api from './api.js';
import { list, pathOf, download } from './blobs.js';
import { blobLink, folderLink, crumbs, removeBlob } from './blob.js';
import { deleteButton, ownTabs, topBar, troubleBox } from './frame.js';
import { itemsOf, rateText, refreshTree } from './names.js';
import { link } from './route.js';
import { contentTypeOf } from './content_type.js';

export async function show(route) {
  const [, container, ...rest] = route.parts,
    prefix = rest.length ? rest.join('/') : '';
  const facts = h('span'),
    body = h('div'),
    trouble = h('div'),
    progress = h('div', { class: 'muted', role: 'status' });

  let turn = 0;
  async function load() {
    const mine = ++turn;
    try {
      const first = await list(container, prefix);
      if (mine !== turn) return;
      put(trouble);
      draw(first.folders, first.blobs, first.next);
    } catch (error) {
      if (mine === turn) put(trouble, troubleBox(error));
    }
  }

  function draw(folders, blobs, next) {
    put(
      body,
      crumbs(container, prefix),
      folders.length + blobs.length === 0
        ? h('p', { class: 'muted' }, 'No blob here.')
        : h(
            'div',
            { class: 'scrollx' },
            stacked(
              h(
                'table',
                { class: 'list mid stack' },
                h(
                  'thead',
                  null,
                  h(
                    'tr',
                    null,
                    ['Name', 'Type', 'Size', 'Changed', 'Lease', 'Tier', ''].map(name =>
                      h(
                        'th',
                        { scope: 'col', class: name === 'Size' || name === 'Changed' ? 'r' : null },
                        name || h('span', { class: 'sr' }, 'Actions'),
                      ),
                    ),
                  ),
                ),
                h(
                  'tbody',
                  null,
                  folders.map(name =>
                    h(
                      'tr',
                      null,
                      h(
                        'td',
                        { colspan: '7' },
                        h(
                          'a',
                          { href: folderLink(container, name) },
                          icon('folder'),
                          ' ',
                          visible(name.slice(prefix.length)),
                        ),
                      ),
                    ),
                  ),
                  blobs.map(blob =>
                    h(
                      'tr',
                      null,
                      h(
                        'td',
                        null,
                        h(
                          'a',
                          { href: blobLink(container, blob.name), dir: 'auto' },
                          visible(blob.name.slice(prefix.length)),
                        ),
                      ),
                      h(
                        'td',
                        null,
                        `${blob.kind.replace('Blob', '')}, ${blob.headers['Content-Type'] || 'no type'}`,
                      ),
                      h('td', { class: 'r' }, bytes(blob.size)),
                      h('td', { class: 'r nowrap' }, instant(new Date(blob.changed).toISOString())),
                      h(
                        'td',
                        null,
                        blob.lease && blob.lease !== 'available'
                          ? h('span', { class: 'chip part' }, blob.lease)
                          : h('span', { class: 'muted' }, 'none'),
                      ),
                      h('td', null, blob.tier || h('span', { class: 'muted' }, '–')),
                      h(
                        'td',
                        { class: 'r' },
                        h(
                          'button',
                          {
                            class: 'btn quiet small',
                            'aria-label': `Download ${blob.name}`,
                            onclick: () =>
                              download(container, blob).catch(error =>
                                put(trouble, troubleBox(error)),
                              ),
                          },
                          'Download',
                        ),
                        h(
                          'button',
                          {
                            class: 'btn quiet small',
                            'aria-label': `Delete ${blob.name}`,
                            onclick: () => remove(blob),
                          },
                          'Delete',
                        ),
                      ),
                    ),
                  ),
                ),
              ),
            ),
          ),
      next &&
        h(
          'button',
          {
            class: 'btn',
            onclick: async () => {
              const more = await list(container, prefix, next);
              draw([...folders, ...more.folders], [...blobs, ...more.blobs], more.next);
            },
          },
          'More',
        ),
    );
  }

  async function remove(blob) {
    try {
      if (await removeBlob(container, blob)) load();
    } catch (error) {
      put(trouble, troubleBox(error));
    }
  }

  // In blocks, so that there is progress and no body is too long.
  const BLOCK = 4 << 20;
  async function upload(file) {
    const path = pathOf(container, prefix + file.name),
      type = await contentTypeOf(file);
    put(progress, `${file.name}: 0 %`);
    if (file.size <= BLOCK)
      await api.service('PUT', path, {
        body: file,
        headers: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-blob-content-type': type },
      });
    else {
      const ids = [];
      for (let at = 0; at < file.size; at += BLOCK) {
        const id = btoa(String(at).padStart(15, '0'));
        await api.service('PUT', `${path}?comp=block&blockid=${encodeURIComponent(id)}`, {
          body: file.slice(at, at + BLOCK),
        });
        ids.push(id);
        put(
          progress,
          `${file.name}: ${Math.round((Math.min(at + BLOCK, file.size) / file.size) * 100)} %`,
        );
      }
      await api.service('PUT', `${path}?comp=blocklist`, {
        body: `<BlockList>${ids.map(id => `<Latest>${id}</Latest>`).join('')}</BlockList>`,
        headers: { 'content-type': 'application/xml', 'x-ms-blob-content-type': type },
      });
    }
    toast(`${file.name} uploaded`);
  }

  async function uploadAll(files) {
    try {
      for (const file of files) await upload(file);
    } catch (error) {
      put(trouble, troubleBox(error));
    }
    put(progress);
    load();
  }

  async function removeAll() {
    if (
      !(await ask(
        `Delete the container ${container} and its blobs? This cannot be undone.`,
        `Delete ${container}`,
      ))
    )
      return;
    try {
      await api.service('DELETE', api.blobPath(`/${container}?restype=container`));
      toast(`${container} deleted`);
      location.hash = link('start');
      refreshTree();
    } catch (error) {
      put(trouble, troubleBox(error));
    }
  }

  const drawFacts = () => {
    const item = itemsOf('blob').find(each => each.name === container);
    put(
      facts,
      !item || item.items == null
        ? ''
        : [
            `${item.exact ? '' : 'about '}${plural(item.items, 'blob')}`,
            bytes(item.bytes),
            rateText(item.rate),
          ]
            .filter(Boolean)
            .join(', '),
    );
  };

  const picker = h('input', {
    type: 'file',
    multiple: true,
    class: 'sr',
    tabindex: '-1',
    'aria-label': 'Files to upload',
    onchange: () => uploadAll([...picker.files]),
  });
  await load();
  drawFacts();
  addEventListener('treechange', drawFacts);
  return {
    leave: () => removeEventListener('treechange', drawFacts),
    nodes: [
      topBar(
        container,
        facts,
        h('button', { class: 'btn', onclick: () => picker.click() }, 'Upload'),
        picker,
        deleteButton('Delete container', removeAll),
      ),
      ownTabs('blob', container),
      h(
        'div',
        {
          class: 'pad',
          ondragover: event => event.preventDefault(),
          ondrop: event => {
            event.preventDefault();
            uploadAll([...event.dataTransfer.files]);
          },
        },
        trouble,
        progress,
        body,
        h('p', { class: 'muted' }, 'Drop files here to upload them.'),
      ),
    ],
  };
}
