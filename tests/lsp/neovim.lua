-- Opens a file of statements in Neovim with the language server, and writes what the editor then knows as JSON.
local command, file, output = unpack(vim.fn.json_decode(vim.env.FORETELL_TEST))
local done = {}

local function wait(what, ready)
  if not vim.wait(60000, ready, 50) then
    error("no " .. what)
  end
end

local function request(method, line, character, more)
  local parameters = vim.lsp.util.make_text_document_params()
  parameters = { textDocument = parameters, position = { line = line, character = character } }
  for key, value in pairs(more or {}) do
    parameters[key] = value
  end
  local answers = vim.lsp.buf_request_sync(0, "textDocument/" .. method, parameters, 60000)
  for _, answer in pairs(answers or {}) do
    return answer.result
  end
end

local function finish()
  vim.cmd("edit " .. file)
  local client = vim.lsp.start_client({ name = "foretell", cmd = command, root_dir = vim.fn.getcwd() })
  vim.lsp.buf_attach_client(0, client)
  wait("diagnostics", function() return #vim.diagnostic.get(0) > 0 end)
  done.errors = {}
  for _, found in ipairs(vim.diagnostic.get(0)) do
    table.insert(done.errors, { found.lnum, found.col, found.message, found.severity })
  end
  local line = vim.fn.getline(4)
  vim.fn.setline(4, (line:gsub("statsu", "status")))
  wait("the errors to go", function() return #vim.diagnostic.get(0) == 0 end)
  wait("findings", function() return #vim.diagnostic.get(0) > 0 end)
  done.finding = vim.diagnostic.get(0)[1].message
  done.hover = request("hover", 2, 6).contents.value
  done.completion = {}
  vim.api.nvim_win_set_cursor(0, { 4, vim.fn.getline(4):find("status") + 1 })
  local place = vim.lsp.util.make_position_params(0, "utf-16").position
  for _, item in ipairs(request("completion", place.line, place.character)) do
    table.insert(done.completion, item.label)
  end
  vim.lsp.util.apply_workspace_edit(request("rename", 2, 6, { newName = "fehler" }), "utf-16")
  done.renamed = vim.fn.getline(1, "$")
  vim.lsp.buf.formatting_sync({}, 60000)
  done.formatted = vim.fn.getline(1, "$")
  vim.lsp.stop_client(client)
end

local well, message = pcall(finish)
done.failure = not well and message or nil
vim.fn.writefile({ vim.fn.json_encode(done) }, output)
vim.cmd("qall!")
