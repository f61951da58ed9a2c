// Prints the scopes of each part of the files given, as VS Code's own library finds them. The first argument is the
// folder with the modules, the second the grammar.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [modules, grammarFile, ...files] = process.argv.slice(2);
const require = createRequire(`${modules}/package.json`);
const oniguruma = require("vscode-oniguruma");
const { Registry, parseRawGrammar } = require("vscode-textmate");

await oniguruma.loadWASM(readFileSync(`${modules}/node_modules/vscode-oniguruma/release/onig.wasm`));
const registry = new Registry({
  onigLib: Promise.resolve({
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (text) => new oniguruma.OnigString(text),
  }),
  loadGrammar: async () => parseRawGrammar(readFileSync(grammarFile, "utf-8"), grammarFile),
});
const grammar = await registry.loadGrammar("source.foretell");
for (const file of files) {
  let state = null;
  const found = [];
  for (const line of readFileSync(file, "utf-8").split("\n")) {
    const result = grammar.tokenizeLine(line, state);
    state = result.ruleStack;
    found.push(result.tokens.map(({ startIndex, endIndex, scopes }) => [startIndex, endIndex, scopes.slice(1)]));
  }
  console.log(JSON.stringify(found));
}
