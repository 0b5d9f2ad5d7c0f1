// The field of the white cell count, in 10⁹/L.

const field = document.getElementById("wbc"), corrected = document.getElementById("corrected-already");
const maxPlausible = 500; // more is a count in another unit

// wbc returns the white cell count, null if it is empty or no number. The decimal separator is a point or a comma.
export function wbc() {
  const text = field.value.trim();
  return /^\d+([.,]\d+)?$/.test(text) ? Number(text.replace(",", ".")) : null;
}

// isCorrected reports whether the analyser has already excluded nucleated red cells.
export const isCorrected = () => corrected.checked;

// clearWbc removes the white cell count, because the next sample may be another patient's.
export function clearWbc() {
  field.value = "";
  corrected.checked = false;
}

// checkWbc marks a field that has no number. It returns what the user should know, undefined if nothing.
export function checkWbc() {
  const wrong = field.value.trim() !== "" && wbc() === null;
  field.setAttribute("aria-invalid", String(wrong));
  if (wrong) return "The white cell count is no number. Write digits, with a decimal point or comma.";
  if (wbc() > maxPlausible) return "The white cell count is very high. Its unit is 10⁹ cells per litre, which equals thousands per microlitre.";
}
