/* Starts the page. The last of its scripts: ask.js, recognise.js and teach.js come before. */
'use strict';

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
