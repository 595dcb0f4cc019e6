// Shows the OpenAPI document: in general, or for the worksheets of a key.
//
// Rules: the key is only in the memory of this page. The page sends it in a header to its own
// origin, and never puts it into a URL, a cookie or the browser's storage. Texts from the server
// are inserted as text, not as HTML.

const DOCUMENT = new URL("../openapi.json", import.meta.url);
const SPREADSHEET_HEADER = "X-Spreadsheet-Id";
const JSON_TYPE = "application/json";
const ONE_ROW = "/{rowIndex}";
const ABOUT_ERRORS = `
An error instead. Its \`message\` says what is wrong and how to correct it.

| status | codes |
| --- | --- |`;
const FILTER = "where";
const ABOUT_OPERATORS = `
\`{"field": value}\` finds equal cells. \`{"field": {"$operator": value}}\` compares with an operator:

| operator | finds cells that are |
| --- | --- |`;
const ABOUT_COMBINATORS = [
  '| `$and`, `$or` | a list of such objects: all of them must match, or at least one |',
];
const BAD_SPREADSHEET = { status: 400, code: 101 };
const MOST_TITLES = 10;

const form = document.getElementById("access");
const values = document.getElementById("values");
const message = document.getElementById("message");
const dark = window.matchMedia("(prefers-color-scheme: dark)");

let latest = new AbortController();

form.addEventListener("submit", (event) => {
  event.preventDefault();
  show(given("key"), given("spreadsheet"));
});
form.addEventListener("reset", () => {
  // The browser resets the form after this event.
  values.value = "";
  show("", "");
});
values.addEventListener("change", () => show(given("key"), given("spreadsheet")));
dark.addEventListener("change", followColors);
followColors();
show("", "");

/** Show the document of a key, or the general document. Errors are shown as a message. */
async function show(key, spreadsheet) {
  latest.abort();
  const mine = (latest = new AbortController());
  tell(key ? "Looking up the worksheets…" : "");
  try {
    const description = await load(key, spreadsheet, mine.signal);
    render(description, key, spreadsheet);
    tell(key ? summary(description) : "");
  } catch (error) {
    if (mine.signal.aborted) return;
    // The page must not keep an older key after a new key was refused.
    if (key) await showForAll(mine.signal);
    if (!mine.signal.aborted) tell(error.message, "bad");
  }
}

/** Show the general document after an error. Its own errors are hidden: the first error counts. */
async function showForAll(signal) {
  try {
    render(await load("", "", signal), "", "");
  } catch {
    document.getElementById("api").replaceChildren();
  }
}

async function load(key, spreadsheet, signal) {
  const source = new URL(DOCUMENT);
  if (values.value) source.searchParams.set("values", values.value);
  const answer = await fetch(source, {
    headers: credentials(key, spreadsheet),
    credentials: "omit",
    cache: "no-store",
    signal,
  }).catch((error) => {
    throw signal.aborted ? error : new Error("The gateway does not answer. Try again later.");
  });
  const body = await answer.json().catch(() => null);
  if (answer.ok && body) return body;
  const { status, code } = BAD_SPREADSHEET;
  if (!spreadsheet && answer.status === status && body?.code === code) {
    throw new Error("This key is for several spreadsheets. Enter the ID of one of them above.");
  }
  throw new Error(body?.message ?? `The answer with status ${answer.status} did not come from the gateway.`);
}

function credentials(key, spreadsheet) {
  const headers = new Headers({ Accept: "application/json" });
  try {
    if (key) headers.set("Authorization", `Bearer ${key}`);
    if (spreadsheet) headers.set(SPREADSHEET_HEADER, spreadsheet);
  } catch {
    throw new Error("The key or the spreadsheet ID has invalid characters. Copy it again.");
  }
  return headers;
}

/** Show the document in Swagger UI, in a new element without the previous document and key. */
function render(description, key, spreadsheet) {
  const element = document.createElement("div");
  document.getElementById("api").replaceChildren(element);
  window.SwaggerUIBundle({
    spec: legible(description),
    domNode: element,
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    tryItOutEnabled: true,
    persistAuthorization: false,
    validatorUrl: null,
    requestInterceptor: (request) => authorized(request, key, spreadsheet),
  });
}

/** A copy of the document, changed for Swagger UI and for requests with the key of the form. */
function legible(description) {
  const shown = structuredClone(description);
  const components = shown.components ?? {};
  // Relative to the document, because the URL of this page might end with a slash.
  shown.servers = [{ url: new URL("./", DOCUMENT).href }];
  const toText = (parameter) => turnIntoText(parameter, components);
  Object.values(components.parameters ?? {}).forEach(toText);
  // Keys are entered only in the form above.
  delete components.securitySchemes;
  for (const [path, item] of Object.entries(shown.paths)) {
    if (path.endsWith(ONE_ROW)) keepOneUpdate(item);
    const { parameters = [], ...operations } = item;
    delete item.parameters;
    for (const [method, operation] of Object.entries(operations)) {
      // Swagger UI shows parameters of the path last, but the first of them is needed most.
      operation.parameters = [...parameters, ...(operation.parameters ?? [])];
      operation.parameters.forEach(toText);
      delete operation.security;
      makeHarmless(method, operation, path.endsWith(ONE_ROW), components);
      gatherErrors(operation, components);
      // 304 has the headers of 200, which are shown just above.
      delete operation.responses?.[304]?.headers;
    }
  }
  return shown;
}

/** Keep PATCH only: POST and PUT of a row have the same effect, as the description says. */
function keepOneUpdate(item) {
  delete item.post;
  delete item.put;
}

/** Make the default request harmless: the gateway refuses an update or delete as prefilled. */
function makeHarmless(method, operation, isOneRow, components) {
  if (method === "delete") {
    operation.parameters = operation.parameters.map((each) => withoutExample(each, components));
  }
  const body = operation.requestBody?.content?.[JSON_TYPE];
  if (!body) return;
  operation.requestBody.content = { [JSON_TYPE]: body };
  if (isOneRow) body.example = {};
  else if (method === "patch") body.example = [];
}

/** The parameter without its example, so that the user must enter the row to delete. */
function withoutExample(parameter, components) {
  const { example, ...rest } = resolved(parameter, components);
  return rest;
}

/** Replace the error answers by one table of statuses and codes. */
function gatherErrors(operation, components) {
  const rows = [];
  for (const [status, answer] of Object.entries(operation.responses ?? {})) {
    const examples = resolved(answer, components).content?.[JSON_TYPE]?.examples;
    if (!examples) continue;
    const codes = Object.values(examples).map((each) => resolved(each, components).summary);
    rows.push(`| ${status} | ${[...new Set(codes)].join(", ")} |`);
    delete operation.responses[status];
  }
  if (!rows.length) return;
  operation.responses.default = { description: [ABOUT_ERRORS, ...rows].join("\n") };
}

/** The component that a reference names; another node is returned as it is. */
function resolved(node, components) {
  const [, , kind, name] = node.$ref?.split("/") ?? [];
  return kind ? components[kind][name] : node;
}

/** Make a JSON parameter a plain text field; otherwise Swagger UI would send the first example. */
function turnIntoText(parameter, components) {
  if (!parameter.schema?.contentSchema) return;
  const lines = Object.values(parameter.examples ?? {}).map(({ value }) => `- \`${value}\``);
  const table = parameter.name === FILTER ? [operatorTable(components)] : [];
  parameter.description = [parameter.description ?? "", ...lines, ...table].join("\n\n");
  parameter.schema = { type: "string" };
  delete parameter.examples;
}

/** A table of the filter operators, because a plain text field does not show the schema. */
function operatorTable(components) {
  const operators = Object.entries(components.schemas?.Operations?.properties ?? {});
  const rows = operators.map(([name, { description }]) => `| \`${name}\` | ${description} |`);
  return [ABOUT_OPERATORS, ...rows, ...ABOUT_COMBINATORS].join("\n");
}

/** Add key and spreadsheet to a request to this origin; headers of the request take precedence. */
function authorized(request, key, spreadsheet) {
  if (new URL(request.url, location.href).origin !== location.origin) return request;
  const given = new Headers(request.headers);
  for (const [name, value] of credentials(key, spreadsheet)) {
    if (!given.has(name)) request.headers[name] = value;
  }
  return request;
}

function summary(description) {
  const titles = worksheets(description);
  if (!titles.length) return "This key has no worksheet that can be described.";
  const more = titles.length > MOST_TITLES ? `, and ${titles.length - MOST_TITLES} more` : "";
  return `Worksheets of this key: ${titles.slice(0, MOST_TITLES).join(", ")}${more}.`;
}

/** The titles of worksheets in the paths of the document. A path with a brace has no title. */
function worksheets(description) {
  const segments = Object.keys(description.paths)
    .map((path) => /^\/v2\/sheets\/([^/{}]+)/.exec(path)?.[1])
    .filter(Boolean);
  return [...new Set(segments)].map(decodeURIComponent);
}

function given(id) {
  return document.getElementById(id).value.trim();
}

function tell(text, mood = "good") {
  message.textContent = text;
  message.className = `notice ${mood}`;
  message.hidden = !text;
}

function followColors() {
  document.documentElement.classList.toggle("dark-mode", dark.matches);
}
