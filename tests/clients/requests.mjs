// Requests of pages with XMLHttpRequest, which jQuery and axios use; only for browsers.

/** One request; status 0 is all that a page learns of an answer that it may not read. */
export function request(method, url, { headers = {}, body = null, withCredentials = false } = {}) {
  return new Promise((resolve) => {
    const asked = new XMLHttpRequest();
    asked.open(method, url);
    asked.withCredentials = withCredentials;
    for (const [name, value] of Object.entries(headers)) asked.setRequestHeader(name, value);
    asked.onloadend = () =>
      resolve({ status: asked.status, text: asked.responseText, headers: asked.getAllResponseHeaders() });
    asked.send(body);
  });
}
