/* What all of the page uses: its elements, texts, and the worker, which `ask` asks. The first of the page's scripts. */
'use strict';

const element = (id) => document.getElementById(id);
const percent = (share) => `${(100 * share).toFixed(share > 0.9995 || share < 0.0005 ? 0 : 1)} %`;
const plainNumber = (value) => value.toLocaleString('en', { maximumSignificantDigits: 5 });
const images = (count) => `${count.toLocaleString('en')} ${count === 1 ? 'image' : 'images'}`;

/* The worker: ask(type, request) returns its answer. */

function embeddedBytes(id) {
  const data = document.getElementById(id);
  return data && Uint8Array.from(atob(data.textContent), (character) => character.charCodeAt(0));
}

function startWorker() {
  const source = document.getElementById('worker-source');
  if (!source) return new Worker('worker.js', { type: 'module' });
  return new Worker(URL.createObjectURL(new Blob([source.textContent], { type: 'text/javascript' })));
}

const worker = startWorker();
const waiting = new Map();
let requests = 0;

worker.onmessage = ({ data: { id, progress, result, error } }) => {
  const { resolve, reject, report } = waiting.get(id);
  if (progress !== undefined) {
    report(progress);
    return;
  }
  waiting.delete(id);
  if (error !== undefined) reject(new Error(error));
  else resolve(result);
};
worker.onerror = (event) => {
  say(element('result-status'), `The page cannot compute here: ${event.message || 'its worker does not start'}. ` +
    'It needs a browser of 2023 or later; from a disk, open shiftvit.html.', true);
};

function ask(type, request = {}, report = () => {}, transfer = []) {
  requests += 1;
  const id = requests;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject, report });
    worker.postMessage({ id, type, ...request }, transfer);
  });
}

function say(status, text, isWrong = false) {
  status.textContent = text;
  status.classList.toggle('wrong', isWrong);
}
