/* The page: it takes images, asks the worker, and shows what it answers. */
'use strict';

const FILES_AT_A_TIME = 64; /* in one request: sending a file takes some tenths of a millisecond */
const SHOWN_CLASSES = 5;
const FRAME_PIXELS = 256; /* the side of images that are taken from the camera */
const RECORD_EVERY = 200; /* milliseconds */
const AT_LEAST = 2; /* images of a class */

const element = (id) => document.getElementById(id);
const percent = (share) => `${(100 * share).toFixed(share > 0.9995 || share < 0.0005 ? 0 : 1)} %`;
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

/* Recognising */

const view = element('view'), image = element('image'), video = element('video');
const recognised = element('result-status');
let shown = null; /* the last answer of the worker for an image */
let isReady = false;

function showModel({ name, classes, width, height }) {
  element('model-name').textContent = name;
  element('model-facts').textContent =
    `${classes.length} classes, from images of ${width} × ${height} pixels: ${classes.slice(0, 20).join(', ')}` +
    (classes.length > 20 ? ' and more.' : '.');
}

function showClasses(classes) {
  const list = element('result');
  list.replaceChildren(...classes.slice(0, SHOWN_CLASSES).map(({ name, confidence }) => {
    const row = document.createElement('li');
    const label = document.createElement('span'), share = document.createElement('span');
    row.style.setProperty('--share', confidence);
    label.textContent = name;
    share.textContent = percent(confidence);
    share.className = 'share';
    row.append(label, share);
    return row;
  }));
}

/* Shades what the model does not look at. The values are scaled to the largest one; what speaks against
 * a class is as dark as what says nothing. */
function drawMap() {
  const canvas = element('map'), map = shown?.map;
  canvas.hidden = !map || !element('show-map').checked;
  element('map-choice').hidden = !map;
  if (!map) return;
  element('map-label').textContent = map.kind === 'attention'
    ? 'Show what the model attends to' : `Show where the model sees it (${shown.classes[0].name})`;
  const most = Math.max(...map.values), least = map.kind === 'attention' ? Math.min(...map.values) : 0;
  const small = new ImageData(map.width, map.height);
  map.values.forEach((value, i) => {
    const share = most > least ? Math.max(0, (value - least) / (most - least)) : 1;
    small.data[4 * i + 3] = Math.round(180 * (1 - share));
  });
  const source = new OffscreenCanvas(map.width, map.height);
  source.getContext('2d').putImageData(small, 0, 0);
  canvas.width = canvas.height = 304;
  const context = canvas.getContext('2d');
  context.imageSmoothingQuality = 'high';
  context.drawImage(source, 0, 0, canvas.width, canvas.height);
}

function showAnswer(answer) {
  shown = answer;
  showClasses(answer.classes);
  drawMap();
}

async function recognise(file) {
  stopCamera();
  URL.revokeObjectURL(image.src);
  image.src = URL.createObjectURL(file);
  say(recognised, 'Computing …');
  try {
    const answer = await ask('predict', { image: file });
    view.hidden = image.hidden = false;
    showAnswer(answer);
    const [{ name, confidence }] = answer.classes;
    say(recognised, confidence < 0.5 ? `The model is not sure. Most likely: ${name}` : `This is most likely: ${name}`);
  } catch (error) {
    shown = null;
    view.hidden = true;
    element('result').replaceChildren();
    drawMap();
    say(recognised, error.message, true);
  }
}

/* What is shown, once more, by another model. */
async function recogniseAgain() {
  if (!view.hidden && video.hidden) await recognise(await (await fetch(image.src)).blob());
}

/* The camera: one stream, for recognising or for the images of a class */

let stream = null;
let recording = null; /* the button of the class that records */

async function startCamera() {
  if (stream) return true;
  try {
    stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: 'environment' } });
  } catch (error) {
    say(recognised, error.name === 'NotAllowedError' ? 'The browser was not allowed to use the camera.'
      : 'There is no camera that the browser can use.', true);
    return false;
  }
  video.srcObject = stream;
  await video.play();
  video.hidden = view.hidden = false;
  image.hidden = true;
  element('hint').hidden = true;
  return true;
}

function stopCamera() {
  if (!stream) return;
  for (const track of stream.getTracks()) track.stop();
  stream = video.srcObject = null;
  video.hidden = view.hidden = true;
  image.hidden = element('hint').hidden = false;
  element('camera').setAttribute('aria-pressed', 'false');
  element('camera').textContent = 'Use the camera';
  stopRecording();
}

/* The middle of the camera's image, as a square. */
function frame() {
  const side = Math.min(video.videoWidth, video.videoHeight);
  return createImageBitmap(video, (video.videoWidth - side) / 2, (video.videoHeight - side) / 2, side, side,
    { resizeWidth: FRAME_PIXELS, resizeHeight: FRAME_PIXELS, resizeQuality: 'medium' });
}

async function watch() {
  while (element('camera').getAttribute('aria-pressed') === 'true' && stream) {
    const bitmap = await frame();
    try {
      showAnswer(await ask('predict', { image: bitmap }, undefined, [bitmap]));
      say(recognised, '');
    } catch (error) {
      say(recognised, error.message, true);
      return;
    }
    await new Promise(requestAnimationFrame);
  }
}

element('camera').onclick = async () => {
  if (element('camera').getAttribute('aria-pressed') === 'true') {
    stopCamera();
  } else if (await startCamera()) {
    element('camera').setAttribute('aria-pressed', 'true');
    element('camera').textContent = 'Stop the camera';
    watch();
  }
};

/* Teaching */

const classes = []; /* { number, count, card, name } */
const learning = element('learn-status');
let numbers = 0;
let isLearning = false;
let adding = 0; /* requests for images that are not answered */

const find = (card, selector) => card.querySelector(selector);

function updateLearning() {
  const able = classes.filter((one) => one.count >= AT_LEAST).length;
  const named = new Set(classes.map((one) => one.name.value.trim()));
  const isAble = isReady && !isLearning && adding === 0 && classes.length >= 2 && able === classes.length &&
    named.size === classes.length && !named.has('');
  element('learn').disabled = !isAble;
  for (const button of document.querySelectorAll('#add-class, .remove, #forget, #open')) button.disabled = isLearning;
  if (isLearning || adding > 0 || learning.dataset.kept === 'yes') return;
  if (classes.length < 2) say(learning, 'It takes two classes or more.');
  else if (named.has('') || named.size < classes.length) say(learning, 'Each class needs a name of its own.');
  else if (able < classes.length) say(learning, `Each class needs ${AT_LEAST} images or more.`);
  else say(learning, `Ready to learn from ${images(classes.reduce((sum, one) => sum + one.count, 0))}.`);
}

function showThumbnails(one, bitmaps) {
  const row = find(one.card, '.thumbnails');
  for (const bitmap of bitmaps) {
    const canvas = document.createElement('canvas');
    canvas.width = bitmap.width;
    canvas.height = bitmap.height;
    canvas.getContext('2d').drawImage(bitmap, 0, 0);
    row.append(canvas);
    bitmap.close();
  }
}

async function addImages(one, files) {
  const count = find(one.card, '.count');
  let failed = 0, failure = null;
  learning.dataset.kept = 'no';
  adding += 1;
  updateLearning();
  try {
    for (let first = 0; first < files.length; first += FILES_AT_A_TIME) {
      await new Promise((resolve) => { setTimeout(resolve); }); /* the choice of the files ends before */
      const some = Array.prototype.slice.call(files, first, first + FILES_AT_A_TIME);
      const report = ({ done }) => {
        if (files.length > 1) count.textContent = `${(first + done).toLocaleString('en')} of ${images(files.length)}`;
      };
      const answer = await ask('add', { number: one.number, files: some }, report);
      one.count = answer.count;
      failed += answer.failed;
      failure ??= answer.failure;
      showThumbnails(one, answer.thumbnails);
    }
  } catch (error) {
    failed += 1;
    failure = error.message;
  } finally {
    adding -= 1;
    count.textContent = one.count ? images(one.count) : 'No images yet';
    updateLearning();
  }
  if (failed > 0) {
    learning.dataset.kept = 'yes';
    say(learning, `${failure}${failed > 1 ? `, and ${failed - 1} more` : ''}.`, true);
  }
}

function stopRecording() {
  if (!recording) return;
  recording.setAttribute('aria-pressed', 'false');
  recording.textContent = 'Record from the camera';
  recording = null;
}

/* Takes images until the button is pressed again. */
async function record(one, button) {
  const isStop = recording === button, wasOn = stream !== null;
  stopRecording();
  if (isStop || !(await startCamera())) return;
  recording = button;
  button.setAttribute('aria-pressed', 'true');
  button.textContent = 'Stop recording';
  const canvas = new OffscreenCanvas(FRAME_PIXELS, FRAME_PIXELS);
  while (recording === button && stream) {
    const bitmap = await frame();
    canvas.getContext('2d').drawImage(bitmap, 0, 0);
    bitmap.close();
    await addImages(one, [await canvas.convertToBlob({ type: 'image/png' })]);
    await new Promise((resolve) => { setTimeout(resolve, RECORD_EVERY); });
  }
  if (!wasOn && !recording) stopCamera();
}

function addClass(name) {
  numbers += 1;
  const card = element('class-template').content.firstElementChild.cloneNode(true);
  const one = { number: numbers, count: 0, card, name: find(card, '.name') };
  const file = find(card, '.file');
  one.name.value = name ?? `Class ${numbers}`;
  one.name.oninput = () => {
    find(card, 'legend').textContent = `Class ${one.name.value}`;
    updateLearning();
  };
  one.name.oninput();
  find(card, '.files').onclick = () => file.click();
  file.onchange = async () => {
    const files = file.files;
    await addImages(one, files);
    file.value = '';
  };
  find(card, '.record').onclick = (event) => record(one, event.currentTarget);
  find(card, '.remove').onclick = () => {
    if (recording && card.contains(recording)) stopCamera();
    classes.splice(classes.indexOf(one), 1);
    card.remove();
    ask('remove', { number: one.number });
    element('add-class').focus();
    updateLearning();
  };
  card.ondragover = (event) => event.preventDefault();
  card.ondrop = (event) => {
    event.preventDefault();
    event.stopPropagation();
    addImages(one, event.dataTransfer.files);
  };
  classes.push(one);
  element('classes').append(card);
  updateLearning();
  return one;
}

/* The curves of accuracy, as far as they are known. */
function drawCurve(epochs, of) {
  const left = 42, right = 272, top = 8, bottom = 128, svg = element('curve-image');
  const x = (epoch) => left + (right - left) * (of > 1 ? (epoch - 1) / (of - 1) : 1);
  const y = (share) => bottom - (bottom - top) * share;
  const parts = [0, 0.5, 1].map((share) =>
    `<line class="grid" x1="${left}" x2="${right}" y1="${y(share)}" y2="${y(share)}"/>` +
    `<text x="${left - 5}" y="${y(share) + 3.5}" text-anchor="end">${100 * share} %</text>`);
  parts.push(`<text x="${left}" y="${bottom + 14}">epoch 1</text>`,
    `<text x="${right}" y="${bottom + 14}" text-anchor="end">${of}</text>`);
  for (const [kind, key] of [['trained', 'accuracy'], ['held', 'validation']]) {
    const points = epochs.filter((epoch) => epoch[key] !== null)
      .map((epoch) => `${x(epoch.epoch).toFixed(1)},${y(epoch[key]).toFixed(1)}`);
    if (points.length) parts.push(`<polyline class="line-${kind}" points="${points.join(' ')}"/>`);
  }
  svg.innerHTML = parts.join('');
  const last = epochs[epochs.length - 1];
  svg.setAttribute('aria-label', `Accuracy by epoch: after ${last.epoch} of ${of}, ${percent(last.accuracy)} of the ` +
    `images that train${last.validation === null ? '' : ` and ${percent(last.validation)} of those held out`}`);
  element('held-key').hidden = last.validation === null;
}

function resultText({ trained, held, accuracy, validation }) {
  if (validation === null)
    return `Learnt from ${images(trained)}, of which it knows ${Math.round(accuracy * trained)}. With ten of each class ` +
      'some are held out, to measure how it does on new ones.';
  return `Learnt from ${images(trained)}. Of ${images(held)} held out, which it had not seen, it knows ` +
    `${Math.round(validation * held).toLocaleString('en')} (${percent(validation)}).`;
}

element('learn').onclick = async () => {
  const epochs = [], progress = element('progress');
  let isDue = false;
  stopCamera();
  isLearning = true;
  learning.dataset.kept = 'yes';
  say(learning, 'Learning …');
  element('cancel').hidden = progress.hidden = false;
  progress.value = 0;
  element('after').hidden = true;
  updateLearning();
  element('cancel').focus();
  try {
    const named = classes.map(({ number, name }) => ({ number, name: name.value.trim() }));
    const answer = await ask('learn', { classes: named, tune: element('tune').checked }, (report) => {
      if (report.phase === 'images') {
        progress.value = report.done / report.of / 2;
        say(learning, `Looking at the images: ${report.done.toLocaleString('en')} of ${report.of.toLocaleString('en')}`);
        return;
      }
      epochs.push(report);
      if (isDue) return; /* epochs may come faster than the screen shows them */
      isDue = true;
      requestAnimationFrame(() => {
        const { epoch, epochs: of } = epochs[epochs.length - 1];
        isDue = false;
        progress.value = 0.5 + epoch / of / 2;
        element('curve').hidden = false;
        drawCurve(epochs, of);
      });
    });
    showModel(answer.model);
    say(learning, resultText(answer));
    element('after').hidden = false;
    recogniseAgain();
  } catch (error) {
    say(learning, error.message, error.message !== 'Cancelled');
  } finally {
    isLearning = false;
    element('cancel').hidden = progress.hidden = true;
    updateLearning();
    element(element('after').hidden ? 'learn' : 'try').focus({ preventScroll: true });
  }
};

element('cancel').onclick = () => worker.postMessage({ type: 'cancel' });
element('try').onclick = () => {
  element('recognise').scrollIntoView({ block: 'start' });
  element('choose').focus({ preventScroll: true });
};
element('download').onclick = async () => {
  const bytes = await ask('save'), link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
  link.download = 'model.safetensors';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
};
element('forget').onclick = async () => {
  showModel(await ask('forget'));
  element('after').hidden = element('curve').hidden = true;
  learning.dataset.kept = 'no';
  updateLearning();
  recogniseAgain();
};
element('add-class').onclick = () => addClass().name.focus();

/* Files: chosen, dropped, pasted */

element('choose').onclick = () => element('file').click();
element('file').onchange = () => {
  const [file] = element('file').files;
  if (file) recognise(file);
  element('file').value = '';
};
element('show-map').onchange = drawMap;
element('open').onclick = () => element('model-file').click();
element('model-file').onchange = async () => {
  const [file] = element('model-file').files;
  element('model-file').value = '';
  if (!file) return;
  try {
    showModel(await ask('open', { file }));
    element('after').hidden = element('curve').hidden = true;
    say(recognised, `The model is now ${file.name}.`);
    await recogniseAgain();
  } catch (error) {
    say(recognised, `${file.name} cannot be used: ${error.message}`, true);
  }
};

const drop = element('drop');
drop.ondragover = (event) => {
  event.preventDefault();
  drop.classList.add('over');
};
drop.ondragleave = () => drop.classList.remove('over');
drop.ondrop = (event) => {
  event.preventDefault();
  drop.classList.remove('over');
  const [file] = event.dataTransfer.files;
  if (file) recognise(file);
};
document.onpaste = (event) => {
  const [file] = event.clipboardData.files;
  if (file) recognise(file);
};

async function start() {
  addClass();
  addClass();
  const wasm = embeddedBytes('shiftvit.wasm'), model = embeddedBytes('cifar10.safetensors');
  try {
    const answer = await ask('start', { wasm, model });
    showModel(answer.model);
    element('version').textContent = `shiftvit ${answer.version}.`;
    isReady = true;
    document.documentElement.dataset.ready = 'yes';
    say(recognised, '');
    updateLearning();
  } catch (error) {
    say(recognised, `The model cannot be loaded: ${error.message}`, true);
  }
}
start();
