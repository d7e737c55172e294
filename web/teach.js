/* Teaching: the classes of the reader, their images, and what is learnt from them. */
'use strict';

const FILES_AT_A_TIME = 16; /* in one request; for each the page waits some tenths of a millisecond for the browser */
const IMAGE_FILES = ['.png', '.jpg', '.jpeg', '.webp', '.gif', '.bmp', '.avif'];
const RECORD_EVERY = 200; /* milliseconds */
const AT_LEAST = 2; /* images of a class */

const classes = []; /* { number, count, card, name } */
const learning = element('learn-status');
let numbers = 0;
let isLearning = false;
let learnt = []; /* the numbers of the classes that the model in use has learnt */
let adding = 0; /* requests for images that are not answered */

const find = (card, selector) => card.querySelector(selector);

function updateLearning() {
  const able = classes.filter((one) => one.count >= AT_LEAST).length;
  const named = new Set(classes.map((one) => one.name.value.trim()));
  const isAble = isReady && !isLearning && adding === 0 && classes.length >= 2 && able === classes.length &&
    named.size === classes.length && !named.has('');
  element('learn').disabled = !isAble;
  for (const one of classes) {
    const button = find(one.card, '.extend'), name = one.name.value.trim();
    button.hidden = learnt.length === 0 || learnt.includes(one.number);
    button.disabled = !isReady || isLearning || adding > 0 || one.count < AT_LEAST || name === '';
  }
  for (const button of document.querySelectorAll('#add-class, .remove, #forget, #open')) button.disabled = isLearning;
  if (isLearning || adding > 0 || learning.dataset.kept === 'yes') return;
  if (classes.length < 2) say(learning, 'It takes two classes or more.');
  else if (named.has('') || named.size < classes.length) say(learning, 'Each class needs a name of its own.');
  else if (able < classes.length) say(learning, `Each class needs ${AT_LEAST} images or more.`);
  else say(learning, `Ready to learn from ${images(classes.reduce((sum, one) => sum + one.count, 0))}.`);
}

function setLearnt(numbers) {
  learnt = numbers;
  element('after').hidden = numbers.length === 0;
  if (numbers.length === 0) element('curve').hidden = true;
  updateLearning();
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

/* Sources are what gives the files of images: files, or what stands for a file and gives it when it is asked. Chromium
 * makes the list of an <input>'s files, or of dropped ones, in one task, which asks the browser for the type of each:
 * with thousands the page stands still. So files come from handles where there are such, and folders are read in parts. */

/* The file of a source. */
async function fileOf(source) {
  if (source instanceof Blob) return source;
  if (source.getFile) return source.getFile();
  return new Promise((resolve, reject) => { source.file(resolve, reject); });
}

/* Lets the reader choose images. null: the browser has no handles of files, and an <input> has to ask. */
async function chooseSources() {
  if (!window.showOpenFilePicker) return null;
  try {
    return await window.showOpenFilePicker({ multiple: true,
      types: [{ description: 'Images', accept: { 'image/*': IMAGE_FILES } }] });
  } catch (error) {
    return error.name === 'AbortError' ? [] : null;
  }
}

/* The image files in a folder that was dropped, and in folders in it. */
async function sourcesIn(folder) {
  const reader = folder.createReader(), sources = [];
  for (;;) {
    const entries = await new Promise((resolve, reject) => { reader.readEntries(resolve, reject); });
    if (entries.length === 0) return sources;
    for (const entry of entries) {
      if (entry.isDirectory) sources.push(...await sourcesIn(entry));
      else if (IMAGE_FILES.some((end) => entry.name.toLowerCase().endsWith(end))) sources.push(entry);
    }
  }
}

/* The files and folders of a drop, which can be asked for in its event alone. */
async function droppedSources(items) {
  const entries = Array.from(items, (item) => item.webkitGetAsEntry()).filter((entry) => entry);
  const sources = await Promise.all(entries.map((entry) => (entry.isDirectory ? sourcesIn(entry) : [entry])));
  return sources.flat();
}

/* Sends the images to the worker, a few at a time, so that the page has time for its reader between them. */
async function addImages(one, sources) {
  const count = find(one.card, '.count'), total = sources.length;
  const filesFrom = (first) =>
    Promise.allSettled(Array.prototype.slice.call(sources, first, first + FILES_AT_A_TIME).map(fileOf));
  let failed = 0, failure = null;
  const fail = (message, more = 1) => {
    failed += more;
    failure ??= message;
  };
  learning.dataset.kept = 'no';
  adding += 1;
  updateLearning();
  try {
    await new Promise((resolve) => { setTimeout(resolve); }); /* the choice of the files ends before */
    let next = filesFrom(0);
    for (let first = 0; first < total; first += FILES_AT_A_TIME) {
      const settled = await next, files = settled.flatMap(({ value }) => value ?? []);
      next = filesFrom(first + FILES_AT_A_TIME);
      if (!classes.includes(one)) break; /* removed meanwhile */
      for (const { reason } of settled) if (reason) fail(reason.message);
      const answer = await ask('add', { number: one.number, files });
      one.count = answer.count;
      if (answer.failed > 0) fail(answer.failure, answer.failed);
      showThumbnails(one, answer.thumbnails);
      const done = Math.min(first + FILES_AT_A_TIME, total);
      if (total > 1) count.textContent = `${done.toLocaleString('en')} of ${images(total)}`;
    }
  } catch (error) {
    fail(error.message);
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
  delete recording.dataset.on;
  recording.textContent = 'Record from the camera';
  recording = null;
}

/* Takes images until the button is pressed again. */
async function record(one, button) {
  const isStop = recording === button, wasOn = stream !== null;
  stopRecording();
  if (isStop || !(await startCamera()) || recording === button) return;
  stopRecording();
  recording = button;
  button.dataset.on = 'yes';
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
  find(card, '.files').onclick = async () => {
    const sources = await chooseSources();
    if (sources) addImages(one, sources);
    else file.click();
  };
  file.onchange = async () => {
    const files = file.files;
    await addImages(one, files);
    file.value = '';
  };
  find(card, '.extend').onclick = () =>
    teach('extend', { number: one.number, name: one.name.value.trim() }, [...learnt, one.number]);
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
    droppedSources(event.dataTransfer.items).then((sources) => addImages(one, sources));
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

function resultText({ added, trained, held, accuracy, validation }) {
  const what = added ? `Added ${added} from ${images(trained)}` : `Learnt from ${images(trained)}`;
  if (validation === null)
    return `${what}, of which it knows ${Math.round(accuracy * trained)}. With ten of each class ` +
      'some are held out, to measure how it does on new ones.';
  return `${what}. Of ${images(held)} held out${added ? ' of all classes' : ''}, which it had not seen, it knows ` +
    `${Math.round(validation * held).toLocaleString('en')} (${percent(validation)}).`;
}

/* Asks the worker to learn or to extend what is learnt, after which the model has the classes of these numbers. */
async function teach(type, request, numbers) {
  const epochs = [], progress = element('progress');
  let isDue = false;
  stopCamera();
  isLearning = true;
  learning.dataset.kept = 'yes';
  say(learning, 'Learning …');
  element('cancel').hidden = progress.hidden = false;
  progress.value = 0;
  element('after').hidden = element('curve').hidden = true;
  updateLearning();
  element('cancel').focus();
  try {
    const answer = await ask(type, request, (report) => {
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
    setLearnt(numbers);
    recogniseAgain();
  } catch (error) {
    say(learning, error.message, error.message !== 'Cancelled');
  } finally {
    isLearning = false;
    element('cancel').hidden = progress.hidden = true;
    setLearnt(learnt);
    element(element('after').hidden ? 'learn' : 'try').focus({ preventScroll: true });
  }
}

element('learn').onclick = () => {
  const named = classes.map(({ number, name }) => ({ number, name: name.value.trim() }));
  teach('learn', { classes: named, tune: element('tune').checked }, named.map(({ number }) => number));
};
element('cancel').onclick = () => worker.postMessage({ type: 'cancel' });
element('try').onclick = () => {
  element('recognise').scrollIntoView({ block: 'start' });
  element('choose').focus({ preventScroll: true });
};
element('download').onclick = async () => {
  const bytes = await ask('save').catch((error) => say(learning, `The model cannot be saved: ${error.message}`, true));
  if (!bytes) return;
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
  link.download = 'model.safetensors';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
};
element('forget').onclick = async () => {
  showModel(await ask('forget'));
  learning.dataset.kept = 'no';
  setLearnt([]);
  recogniseAgain();
};
element('add-class').onclick = () => addClass().name.focus();
