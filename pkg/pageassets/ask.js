// A confirmation dialog, shown before data is discarded.
import { element } from "./lab.js";

// ask shows a dialog with a question and returns whether the user agreed. Escape counts as no; the button no has the focus.
export function ask(question, yes, no = "Leave it") {
  document.getElementById("ask")?.remove();
  const buttons = Object.entries({ no, yes }).map(([id, text]) => Object.assign(element("button", id === "no" ? "primary" : "", text), { id, type: "button" }));
  const text = element("p", "", question);
  text.id = "question";
  const dialog = element("dialog", "", text, element("div", "bar", ...buttons));
  dialog.id = "ask";
  dialog.setAttribute("aria-labelledby", text.id);
  document.querySelector("main").append(dialog);
  dialog.showModal();
  buttons[0].focus();
  return new Promise((resolve) => {
    const done = (agreed) => () => {
      dialog.close();
      resolve(agreed);
    };
    buttons.forEach((button) => button.addEventListener("click", done(button.id === "yes")));
    dialog.addEventListener("cancel", done(false));
  });
}
