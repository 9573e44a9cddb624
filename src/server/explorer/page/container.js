// A container of blobs: its folders, what a blob is, upload and download.

import { h, put, icon, bytes, plural, toast, ask, instant, dialog, visible } from './dom.js';
import * as api from './api.js';
import { topBar, link, refreshTree, troubleBox } from './shell.js';
import { itemsOf, rateText } from './tree.js';
import { contentTypeOf } from './content_type.js';

const VIEW_MAX = 1 << 20;
const encodePath = name => name.split('/').map(encodeURIComponent).join('/');

async function list(container, prefix, marker) {
  const xml = await api.serviceXml('GET', api.blobPath(`/${container}?restype=container&comp=list&delimiter=%2F&maxresults=500&prefix=${encodeURIComponent(prefix)}${marker ? `&marker=${encodeURIComponent(marker)}` : ''}`));
  const blobs = xml.find('Blobs');
  return {
    folders: blobs.all('BlobPrefix').map(each => each.textOf('Name')),
    blobs: blobs.all('Blob').map(each => ({ name: each.textOf('Name'), size: Number(each.textOf('Properties/Content-Length')), type: each.textOf('Properties/Content-Type'), kind: each.textOf('Properties/BlobType'), changed: each.textOf('Properties/Last-Modified'), lease: each.textOf('Properties/LeaseState'), tier: each.textOf('Properties/AccessTier') })),
    next: xml.textOf('NextMarker'),
  };
}

async function read(container, name, headers) {
  return (await api.service('GET', api.blobPath(`/${container}/${encodePath(name)}`), { headers })).blob();
}

async function download(container, blob) {
  const data = await read(container, blob.name), url = URL.createObjectURL(new Blob([data], { type: 'application/octet-stream' }));
  const a = h('a', { href: url, download: blob.name.split('/').pop() });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

async function view(container, blob) {
  const part = await read(container, blob.name, blob.size > VIEW_MAX ? { range: `bytes=0-${VIEW_MAX - 1}` } : {});
  const data = new Uint8Array(await part.arrayBuffer());
  const isPng = data[0] === 0x89 && data[1] === 0x50, isJpeg = data[0] === 0xff && data[1] === 0xd8;
  const isText = !data.slice(0, 4096).includes(0);
  const url = isPng || isJpeg ? URL.createObjectURL(new Blob([data], { type: isPng ? 'image/png' : 'image/jpeg' })) : null;
  await dialog(blob.name, close => [
    h('div', { class: 'row' }, h('h2', null, visible(blob.name)), h('span', { class: 'grow' }), h('button', { class: 'btn small', onclick: () => download(container, blob) }, 'Download'), h('button', { class: 'btn small', autofocus: true, onclick: () => close() }, 'Close')),
    h('p', { class: 'muted' }, [blob.kind, blob.type, bytes(blob.size), blob.lease && `lease ${blob.lease}`, blob.tier].filter(Boolean).join(', ')),
    url ? h('img', { class: 'picture', src: url, alt: blob.name }) : isText ? h('pre', { class: 'whole', tabindex: '0', role: 'region', 'aria-label': blob.name, dir: 'auto' }, new TextDecoder().decode(data)) : h('p', null, 'These are bytes, not text. Download it.'),
    blob.size > VIEW_MAX && h('p', { class: 'muted' }, `The first 1 MiB of ${bytes(blob.size)}.`)], true);
  if (url) URL.revokeObjectURL(url);
}

export async function show(route) {
  const [, container, ...rest] = route.parts, prefix = rest.length ? rest.join('/') : '';
  const facts = h('span'), body = h('div'), trouble = h('div'), progress = h('div', { class: 'muted', role: 'status' });

  let turn = 0;
  async function load() {
    const mine = ++turn;
    try { const first = await list(container, prefix); if (mine !== turn) return; put(trouble); draw(first.folders, first.blobs, first.next); } catch (error) { if (mine === turn) put(trouble, troubleBox(error)); }
  }

  function draw(folders, blobs, next) {
    const parts = prefix.split('/').filter(Boolean);
    put(body,
      h('p', { class: 'crumbs' }, h('a', { href: link('c', container) }, container), parts.map((part, i) => [' / ', h('a', { href: `${link('c', container)}/${parts.slice(0, i + 1).map(encodeURIComponent).join('/')}/` }, part)])),
      folders.length + blobs.length === 0 ? h('p', { class: 'muted' }, 'No blob here.') :
      h('div', { class: 'scrollx' }, h('table', { class: 'list mid' }, h('thead', null, h('tr', null, ['Name', 'Type', 'Size', 'Changed', 'Lease', 'Tier', ''].map(name => h('th', { scope: 'col', class: name === 'Size' || name === 'Changed' ? 'r' : null }, name || h('span', { class: 'sr' }, 'Actions'))))),
        h('tbody', null,
          folders.map(name => h('tr', null, h('td', { colspan: '7' }, h('a', { href: `${link('c', container)}/${name.split('/').map(encodeURIComponent).join('/')}` }, icon('folder'), ' ', visible(name.slice(prefix.length)))))),
          blobs.map(blob => h('tr', null, h('td', null, h('button', { class: 'linky', dir: 'auto', onclick: () => view(container, blob).catch(error => put(trouble, troubleBox(error))) }, visible(blob.name.slice(prefix.length)))), h('td', null, `${blob.kind.replace('Blob', '')}, ${blob.type || 'no type'}`), h('td', { class: 'r' }, bytes(blob.size)), h('td', { class: 'r nowrap' }, instant(new Date(blob.changed).toISOString())), h('td', null, blob.lease && blob.lease !== 'available' ? h('span', { class: 'chip part' }, blob.lease) : h('span', { class: 'muted' }, 'none')), h('td', null, blob.tier || h('span', { class: 'muted' }, '–')),
            h('td', { class: 'r' }, h('button', { class: 'btn quiet small', 'aria-label': `Download ${blob.name}`, onclick: () => download(container, blob).catch(error => put(trouble, troubleBox(error))) }, 'Download'), h('button', { class: 'btn quiet small', 'aria-label': `Delete ${blob.name}`, onclick: () => removeBlob(blob) }, 'Delete'))))))),
      next && h('button', { class: 'btn', onclick: async () => { const more = await list(container, prefix, next); draw([...folders, ...more.folders], [...blobs, ...more.blobs], more.next); } }, 'More'));
  }

  async function removeBlob(blob) {
    if (!await ask(`Delete ${blob.name}? This cannot be undone.`, 'Delete')) return;
    try { await api.service('DELETE', api.blobPath(`/${container}/${encodePath(blob.name)}`)); toast(`${blob.name} deleted`); load(); } catch (error) { put(trouble, troubleBox(error)); }
  }

  // In blocks, so that there is progress and no body is too long.
  const BLOCK = 4 << 20;
  async function upload(file) {
    const path = api.blobPath(`/${container}/${encodePath(prefix + file.name)}`), type = await contentTypeOf(file);
    put(progress, `${file.name}: 0 %`);
    if (file.size <= BLOCK) await api.service('PUT', path, { body: file, headers: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-blob-content-type': type } });
    else {
      const ids = [];
      for (let at = 0; at < file.size; at += BLOCK) {
        const id = btoa(String(at).padStart(15, '0'));
        await api.service('PUT', `${path}?comp=block&blockid=${encodeURIComponent(id)}`, { body: file.slice(at, at + BLOCK) });
        ids.push(id);
        put(progress, `${file.name}: ${Math.round(Math.min(at + BLOCK, file.size) / file.size * 100)} %`);
      }
      await api.service('PUT', `${path}?comp=blocklist`, { body: `<BlockList>${ids.map(id => `<Latest>${id}</Latest>`).join('')}</BlockList>`, headers: { 'content-type': 'application/xml', 'x-ms-blob-content-type': type } });
    }
    toast(`${file.name} uploaded`);
  }

  async function uploadAll(files) {
    try { for (const file of files) await upload(file); } catch (error) { put(trouble, troubleBox(error)); }
    put(progress);
    load();
  }

  async function remove() {
    if (!await ask(`Delete the container ${container} and its blobs? This cannot be undone.`, `Delete ${container}`)) return;
    try { await api.service('DELETE', api.blobPath(`/${container}?restype=container`)); toast(`${container} deleted`); location.hash = link('start'); refreshTree(); } catch (error) { put(trouble, troubleBox(error)); }
  }

  const drawFacts = () => {
    const item = itemsOf('blob').find(each => each.name === container);
    put(facts, !item || item.items == null ? '' : [`${item.exact ? '' : 'about '}${plural(item.items, 'blob')}`, bytes(item.bytes), rateText(item.rate)].filter(Boolean).join(', '));
  };

  const picker = h('input', { type: 'file', multiple: true, class: 'sr', tabindex: '-1', 'aria-label': 'Files to upload', onchange: () => uploadAll([...picker.files]) });
  await load();
  drawFacts();
  addEventListener('treechange', drawFacts);
  return {
    leave: () => removeEventListener('treechange', drawFacts),
    nodes: [topBar(container, facts, h('button', { class: 'btn', onclick: () => picker.click() }, 'Upload'), picker, h('button', { class: 'btn quiet', onclick: remove }, 'Delete container')),
      h('div', { class: 'pad', ondragover: event => event.preventDefault(), ondrop: event => { event.preventDefault(); uploadAll([...event.dataTransfer.files]); } }, trouble, progress, body, h('p', { class: 'muted' }, 'Drop files here to upload them.'))],
  };
}
