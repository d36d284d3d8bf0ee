// Exports a session to a file. On request it is encrypted in the browser: neither passphrase nor key leaves it.
(() => {
  "use strict";
  const {all, ask, copy, one, parsed} = window.reread;
  const form = one("form.exporting"), told = one(".told", form), phrase = one(".passphrase", form), finds = one(".finds", form);
  const ROUNDS = 600000;
  const chosen = () => one("input[name=format]:checked", form).value;
  // A phone loads the page over plain HTTP, where browsers offer no encryption.
  const sealing = one("input[value=encrypted]", form);
  if (!window.isSecureContext) {
    sealing.disabled = true;
    sealing.parentElement.append(" (only on the machine of the server, or over HTTPS)");
  }
  const settle = () => {
    phrase.hidden = chosen() !== "encrypted";
    one("input", phrase).required = !phrase.hidden;
    finds.hidden = !one("input[name=redact]", form).checked;
  };
  // Six words of five letters, made of sounds: 100 bits, more than the key's rounds could ever be tried for.
  const CONSONANTS = "bdfghjklmnprstvz", VOWELS = "aeiou";
  const anyOf = letters => {
    const most = 256 - 256 % letters.length;
    let byte;
    do [byte] = crypto.getRandomValues(new Uint8Array(1)); while (byte >= most);
    return letters[byte % letters.length];
  };
  const word = () => [CONSONANTS, VOWELS, CONSONANTS, VOWELS, CONSONANTS].map(anyOf).join("");
  one(".made-words", form).addEventListener("click", () => { one("input", phrase).value = Array.from({length: 6}, word).join(" "); });
  form.addEventListener("change", settle);
  settle();
  ask(finds.dataset.fillPreview).then(async answer => finds.replaceChildren(parsed(await answer.text())));

  const made = async format => {
    const given = new URLSearchParams(new FormData(form));
    given.set("format", format);
    const answer = await ask(form.getAttribute("action"), {method: "POST", body: given});
    if (!answer.ok) throw new Error(parsed(await answer.text()).textContent.trim());
    return {text: await answer.text(), name: /filename="([^"]+)"/.exec(answer.headers.get("content-disposition"))[1]};
  };
  const base64 = bytes => {
    let text = "";
    for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
    return btoa(text);
  };
  const sealed = async (text, words) => {
    const salt = crypto.getRandomValues(new Uint8Array(16)), iv = crypto.getRandomValues(new Uint8Array(12)), encoder = new TextEncoder();
    const from = await crypto.subtle.importKey("raw", encoder.encode(words), "PBKDF2", false, ["deriveKey"]);
    const key = await crypto.subtle.deriveKey({name: "PBKDF2", hash: "SHA-256", salt, iterations: ROUNDS}, from, {name: "AES-GCM", length: 256}, false, ["encrypt"]);
    const bytes = new Uint8Array(await crypto.subtle.encrypt({name: "AES-GCM", iv}, key, encoder.encode(text)));
    const opener = `const D=${JSON.stringify({salt: base64(salt), iv: base64(iv), data: base64(bytes), rounds: ROUNDS})};
const raw=t=>Uint8Array.from(atob(t),c=>c.charCodeAt(0));
document.querySelector("form").addEventListener("submit",async e=>{e.preventDefault();const o=document.querySelector("output");if(!crypto.subtle){o.textContent="Save this page and open it as a file: browsers decrypt nothing over plain HTTP.";return;}o.textContent="Opening …";
try{const f=await crypto.subtle.importKey("raw",new TextEncoder().encode(document.querySelector("input").value),"PBKDF2",false,["deriveKey"]);
const k=await crypto.subtle.deriveKey({name:"PBKDF2",hash:"SHA-256",salt:raw(D.salt),iterations:D.rounds},f,{name:"AES-GCM",length:256},false,["decrypt"]);
const t=new TextDecoder().decode(await crypto.subtle.decrypt({name:"AES-GCM",iv:raw(D.iv)},k,raw(D.data)));document.open();document.write(t);document.close();
}catch{o.textContent="That is not the passphrase.";}});`;
    return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><title>An encrypted session</title><style>body{font:1rem/1.5 system-ui,sans-serif;max-width:30rem;margin:15vh auto;padding:0 1rem}input,button{font:inherit;padding:.4rem .7rem}</style></head><body><main><h1>An encrypted session</h1><form><p><label>Passphrase<br><input type="password" autofocus required></label> <button>Open</button></p><output role="status"></output></form></main><script>${opener}<\/script></body></html>`;
  };
  const save = (text, name, kind) => {
    const link = Object.assign(document.createElement("a"), {href: URL.createObjectURL(new Blob([text], {type: kind})), download: name});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const during = async (words, act) => {
    const focused = document.activeElement;
    told.textContent = words;
    for (const button of all("button", form)) button.disabled = true;
    try { told.textContent = await act(); } catch (problem) { told.textContent = problem.message; }
    for (const button of all("button", form)) button.disabled = false;
    if (document.activeElement === document.body) focused.focus({preventScroll: true}); // a disabled button loses the focus
  };
  form.addEventListener("submit", event => {
    event.preventDefault();
    during("Making the file …", async () => {
      const isSealed = chosen() === "encrypted", {text, name} = await made(isSealed ? "html" : chosen());
      if (isSealed) save(await sealed(text, one("input", phrase).value), name.replace(/\.html$/, "-encrypted.html"), "text/html");
      else save(text, name, "application/octet-stream");
      return "Done: it is among your downloads.";
    });
  });
  one(".copy-markdown", form).addEventListener("click", event => during("Copying …", async () => {
    await copy((await made("markdown")).text, event.target);
    return "Copied.";
  }));
})();
