let audio = null;

// beep plays a tone for a user who looks into the microscope: a high one when the target is reached, a low one for a key that counted
// nothing. The number of tones is stored in the document under the name what, for tests.
export function beep(frequency, what) {
  audio ??= new AudioContext();
  const tone = audio.createOscillator();
  const volume = audio.createGain();
  volume.gain.value = 0.2;
  tone.frequency.value = frequency;
  tone.connect(volume).connect(audio.destination);
  tone.start();
  tone.stop(audio.currentTime + 0.3);
  document.body.dataset[what] = Number(document.body.dataset[what] || 0) + 1;
}
