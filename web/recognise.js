/* Recognising images, of files and of the camera. */
'use strict';

const SHOWN_CLASSES = 5;
const FRAME_PIXELS = 256; /* the side of images that are taken from the camera */

const view = element('view'), image = element('image'), video = element('video');
const recognised = element('result-status');
let chosen = null; /* the last file that was to be recognised */
let shown = null; /* the last answer of the worker for an image */
let isReady = false;

function showModel({ name, classes, width, height }) {
  element('model-name').textContent = name;
  element('model-facts').textContent =
    `${classes.length} classes, from images of ${width} × ${height} pixels: ${classes.slice(0, 20).join(', ')}` +
    (classes.length > 20 ? ' and more.' : '.');
}

/* A model of numbers says no probabilities, so its classes have no bars and no per cent. */
function showClasses({ classes, output }) {
  const isNumbers = output === 'logits';
  const list = element('result');
  list.replaceChildren(...classes.slice(0, SHOWN_CLASSES).map(({ name, confidence }) => {
    const row = document.createElement('li');
    const label = document.createElement('span'), share = document.createElement('span');
    row.style.setProperty('--share', isNumbers ? 0 : confidence);
    label.textContent = name;
    share.textContent = isNumbers ? plainNumber(confidence) : percent(confidence);
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
  showClasses(answer);
  drawMap();
}

function answerText({ classes: [{ name, confidence }], output }) {
  if (output === 'logits') return 'This model gives numbers, no confidences.';
  return confidence < 0.5 ? `The model is not sure. Most likely: ${name}` : `This is most likely: ${name}`;
}

async function recognise(file) {
  stopCamera();
  chosen = file;
  URL.revokeObjectURL(image.src);
  image.src = URL.createObjectURL(file);
  say(recognised, 'Computing …');
  try {
    const answer = await ask('predict', { image: file });
    view.hidden = image.hidden = false;
    showAnswer(answer);
    say(recognised, answerText(answer));
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
  if (!view.hidden && video.hidden) await recognise(chosen);
}

/* The camera: one stream, for recognising or for the images of a class */

let stream = null;
let opening = null; /* the promise of the stream, while the reader is asked */
let recording = null; /* the button of the class that records */

/* Resolves to whether there is a camera. A second call while the reader is asked waits for the same stream. */
function startCamera() {
  opening ??= openCamera().finally(() => { opening = null; });
  return opening;
}

async function openCamera() {
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
  delete element('camera').dataset.on;
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
  while (element('camera').dataset.on === 'yes' && stream) {
    try {
      const bitmap = await frame();
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
  const isOn = () => element('camera').dataset.on === 'yes';
  if (isOn()) {
    stopCamera();
  } else if (await startCamera() && !isOn()) {
    element('camera').dataset.on = 'yes';
    element('camera').textContent = 'Stop the camera';
    watch();
  }
};

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
    setLearnt([]);
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
