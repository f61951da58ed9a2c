// Starts `foretell lsp` for files of statements.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const command = workspace.getConfiguration("foretell").get("command");
  const selector = [{ language: "foretell" }];
  client = new LanguageClient("foretell", "Foretell", { command, args: ["lsp"] }, { documentSelector: selector });
  return client.start();
};

exports.deactivate = () => client?.stop();
