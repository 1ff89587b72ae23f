// Runs in every document before its own scripts: what differs between two runs is the same in all of them, and what
// would leave the page does not.
(() => {
  "use strict";
  let state = 0x9e3779b9;
  const random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  Math.random = random;
  if (globalThis.crypto) {
    const fill = (array) => {
      const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      for (let at = 0; at < bytes.length; at += 1) bytes[at] = Math.floor(random() * 256);
      return array;
    };
    Object.defineProperty(Crypto.prototype, "getRandomValues", { value: fill, configurable: true, writable: true });
    const uuid = () => {
      const hex = Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16));
      hex[12] = "4";
      hex[16] = "89ab"[Math.floor(random() * 4)];
      return hex.join("").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
    };
    if (Crypto.prototype.randomUUID) {
      Object.defineProperty(Crypto.prototype, "randomUUID", { value: uuid, configurable: true, writable: true });
    }
  }
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "RTCDataChannel", "WebTransport"]) {
    delete globalThis[name];
  }
  globalThis.open = () => null;
  globalThis.print = () => undefined;
})();
