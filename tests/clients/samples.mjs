// Typical uses of the API by JavaScript with only `fetch`, equal in Node and in a browser. Each
// sample takes the site (base URL, keys, spreadsheet ID) and returns the answers.

const TEXAS = { state: "Texas" };
const JSON_TYPE = { "Content-Type": "application/json" };

/** Status, body and all headers that the caller may read; a body that is no JSON is null. */
async function told(response) {
  const text = await response.text();
  return {
    status: response.status,
    body: text.startsWith("{") ? JSON.parse(text) : null,
    headers: Object.fromEntries(response.headers),
  };
}

function signed(site, key = site.keys.paid) {
  return { Authorization: `Bearer ${key}`, "X-Spreadsheet-Id": site.spreadsheet };
}

async function get(site, path, headers = signed(site), options = {}) {
  return told(await fetch(`${site.base}/sheets/${path}`, { headers, ...options }));
}

async function send(site, method, path, body, headers = {}) {
  const request = { method, headers: { ...signed(site), ...headers }, body };
  return told(await fetch(`${site.base}/sheets/${path}`, request));
}

/** The way of the hosted service's samples: what the URL encodes anyway is encoded before. */
function encodedTwice(site, path, parameters) {
  const url = new URL(`${site.base}/sheets/${path}`);
  const all = { ...parameters, apiKey: site.keys.paid, spreadsheetId: site.spreadsheet };
  for (const [name, value] of Object.entries(all)) {
    url.searchParams.append(name, encodeURIComponent(value));
  }
  return url;
}

/** The way of qs and jQuery: an object becomes names with brackets. */
function bracketed(name, value) {
  if (typeof value !== "object") return [[name, value]];
  return Object.entries(value).flatMap(([key, part]) =>
    bracketed(`${name}[${Array.isArray(value) ? "" : key}]`, part),
  );
}

export const samples = {
  list: (site) => get(site, "Cities?limit=2"),
  "list, key in the URL": async (site) =>
    told(await fetch(encodedTwice(site, "Cities", { limit: 2, skip: 1 }))),
  "row, key in the URL": async (site) => told(await fetch(encodedTwice(site, "Cities/3", {}))),

  search: (site) => get(site, `Cities?where=${encodeURIComponent(JSON.stringify(TEXAS))}`),
  "search, encoded twice": async (site) =>
    told(await fetch(encodedTwice(site, "Cities", { where: JSON.stringify(TEXAS) }))),
  "search, a range encoded twice": async (site) => {
    const where = '{"population": {"$gte": 2000000, "$lte": 3000000}}';
    return told(await fetch(encodedTwice(site, "Cities", { where, order: "-population" })));
  },
  "search, all in one name": (site) =>
    get(site, `Cities?${encodeURIComponent(`where=${JSON.stringify(TEXAS)}`)}`),
  "search, as it is": (site) => get(site, `Cities?where=${JSON.stringify(TEXAS)}`),
  "search, in brackets": (site) => {
    const pairs = bracketed("where", { name: { $in: ["Dallas", "Houston"] } });
    return get(site, `Cities?${new URLSearchParams(pairs)}`);
  },
  order: async (site) => {
    const asked = { order: "-total sales", keys: "name,total sales", limit: 2 };
    return told(await fetch(encodedTwice(site, "Totals", asked)));
  },

  pages: async (site) => {
    const pages = [];
    let page;
    do {
      page = (await get(site, `Long?limit=50&skip=${pages.length * 50}`)).body;
      pages.push(page.results.map((row) => row.number));
    } while (page.hasNextPage);
    return { pages: pages.map((numbers) => numbers.length), last: pages.flat().at(-1) };
  },

  "create, update, read": async (site) => {
    const row = { name: "Austin", state: "Texas", population: 961855 };
    const created = await send(site, "POST", "Cities", JSON.stringify(row), JSON_TYPE);
    const path = `Cities/${created.body.rowIndex}`;
    const change = JSON.stringify({ population: 964000 });
    const updated = await send(site, "PUT", path, change, JSON_TYPE);
    return { created, updated, read: await get(site, path) };
  },
  "put a record back": async (site) => {
    const row = (await get(site, "Orders/3")).body;
    const changed = { ...row, note: "paid" };
    return send(site, "PUT", `Orders/${row.rowIndex}`, JSON.stringify(changed), JSON_TYPE);
  },
  "create, a string without a type": (site) =>
    send(site, "POST", "My%20Sheet", JSON.stringify({ name: "string" })),
  "create, bytes without a type": (site) =>
    send(site, "POST", "My%20Sheet", new TextEncoder().encode('{"name": "bytes"}')),
  "create, a form": (site) =>
    send(site, "POST", "My%20Sheet", new URLSearchParams({ name: "form & blank", amount: "007" })),
  "create, FormData": (site) => {
    const form = new FormData();
    form.append("name", "never");
    return send(site, "POST", "My%20Sheet", form);
  },

  "no such worksheet": (site) => get(site, "Nowhere"),
  "no such row": (site) => get(site, "Cities/99"),
  "no such field": (site) => send(site, "POST", "Cities", '{"town": "x"}', JSON_TYPE),
  "wrong key": (site) => get(site, "Cities", signed(site, "sgw_wrong")),
  "no key": (site) => get(site, "Cities", {}),
  "search on a plan without": (site) =>
    get(site, 'Cities?where={"state":"Texas"}', signed(site, site.keys.free)),
  "delete a row": (site) => send(site, "DELETE", "Cities/3"),
  "version 1": async (site) =>
    told(await fetch(`${site.base.replace("/v2", "/v1")}/sheets/Cities?spreadsheetId=demo`)),
  "a key for another page": (site) => get(site, "Cities/2", signed(site, site.keys.elsewhere)),
  "a key for this page": (site) => get(site, "Cities/2", signed(site, site.keys.here)),
  "too many requests": async (site) => {
    for (let number = 0; number < 40; number += 1) {
      const answer = await get(site, "Cities?limit=1", signed(site, site.keys.hasty));
      if (answer.status !== 200) return answer;
    }
    return null;
  },

  "known already": async (site) => {
    const first = await get(site, "Cities/2");
    const headers = { ...signed(site), "If-None-Match": first.headers.etag };
    return get(site, "Cities/2", headers);
  },
  "changed by another": (site) =>
    send(site, "PUT", "Cities/2", '{"population": 1}', { ...JSON_TYPE, "If-Match": '"old"' }),
  "stray headers": (site) =>
    get(
      site,
      "Cities?limit=1",
      { ...signed(site), ...JSON_TYPE, "Access-Control-Allow-Origin": "*", "X-Own": "1" },
      { withCredentials: true, cache: "no-store" },
    ),
};

/** Returns the results of all samples, run one after another; an exception becomes its text. */
export async function runAll(site) {
  const outcomes = {};
  for (const [name, sample] of Object.entries(samples)) {
    outcomes[name] = await sample(site).catch((error) => ({ failed: String(error) }));
  }
  return outcomes;
}
