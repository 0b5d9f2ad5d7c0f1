// keyOf returns the name of the pressed key in a mapping. On a keyboard layout that is not Latin it is the Latin key in this
// position, unless the letter itself is mapped.
export function keyOf(event, isMapped) {
  if (event.key === " ") {
    return "Space";
  }
  const [, letter, digit] = /^(?:Key([A-Z])|Digit([0-9]))$/.exec(event.code) || [];
  const composed = ["Process", "Dead", "Unidentified"].includes(event.key); // an input method takes the letter
  const foreign = (composed || event.key.length === 1 && event.key.charCodeAt(0) > 127) && !isMapped(event.key);
  return foreign && (letter || digit) ? letter?.toLowerCase() || digit : event.key;
}
