// Steppers in frames are as light or dark as the site, also after its reader has switched.

const scheme = () => (document.body.dataset.mdColorScheme === "slate" ? "dark" : "light");
const frames = document.querySelectorAll("iframe.stepper");

// To any origin: a frame in a sandbox has none of its own.
const tell = (frame) => frame.contentWindow.postMessage({ theme: scheme() }, "*");

for (const frame of frames) {
  frame.addEventListener("load", () => tell(frame));
  tell(frame);
}
new MutationObserver(() => frames.forEach(tell)).observe(document.body, {
  attributeFilter: ["data-md-color-scheme"],
});
