"""The server: the requests and notifications of the protocol, and when texts are analysed and checked."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from foretell.errors import ForetellError
from foretell.lsp.analysis import analyse
from foretell.lsp.background_check import BackgroundChecks
from foretell.lsp.code_actions import code_actions
from foretell.lsp.completion import completions
from foretell.lsp.diagnostics import PlacedFinding, error_diagnostics, finding_diagnostics, placed_findings
from foretell.lsp.documents import Document
from foretell.lsp.hover import hover
from foretell.lsp.layout_edits import layout_edits
from foretell.lsp.navigation import definition, highlights, references, rename, renamed_range
from foretell.lsp.symbols import symbols

#: The seconds without a change after which a text is analysed, and checked.
_ANALYSIS_DELAY, _CHECK_DELAY = 0.1, 0.4


class ForetellLanguageServer(LanguageServer):
    """The texts that an editor has open, and the work on them.

    Features are answered from the text and the latest analysis; analysis and check follow when typing pauses. A check
    takes at most `seconds`, and for a single statement at most `statement_seconds`.
    """

    def __init__(self, *, seconds: float, statement_seconds: float) -> None:
        super().__init__(
            "foretell", version("foretell"), text_document_sync_kind=types.TextDocumentSyncKind.Full, max_workers=1
        )
        self._documents: dict[str, Document] = {}
        self._found: dict[str, list[PlacedFinding]] = {}
        self._updates: dict[str, asyncio.Task[None]] = {}
        self._checks = BackgroundChecks(seconds, statement_seconds)
        self.analysing = ThreadPoolExecutor(1)
        self._logged: set[str] = set()

    def open(self, uri: str, number: int, text: str) -> None:
        encoding = self.workspace.position_encoding or "utf-16"
        self._documents[uri] = Document(uri, number, text, encoding)
        self._schedule(uri, 0.0)

    def change(self, uri: str, number: int, text: str) -> None:
        if uri in self._documents:
            self._documents[uri] = self._documents[uri].with_text(number, text)
            self._schedule(uri, _ANALYSIS_DELAY)

    def close(self, uri: str) -> None:
        self._documents.pop(uri, None)
        self._found.pop(uri, None)
        task = self._updates.pop(uri, None)
        if task is not None:
            task.cancel()
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def document(self, uri: str) -> Document | None:
        """The latest version of a text; None of one that is not open: no file is read."""
        return self._documents.get(uri)

    async def analysed(self, uri: str) -> Document | None:
        """The latest version of a text, after its analysis."""
        document = self._documents.get(uri)
        if document is not None:
            await self._analyse(document)
        return document

    async def end(self) -> None:
        for task in self._updates.values():
            task.cancel()
        self.analysing.shutdown(wait=False, cancel_futures=True)
        await self._checks.stop()

    def _schedule(self, uri: str, delay: float) -> None:
        """Begins the update of a text, and ends the one that is under way for an older version."""
        if uri in self._updates:
            self._updates[uri].cancel()
        task = asyncio.get_running_loop().create_task(self._update(self._documents[uri], delay))
        task.add_done_callback(self._log_failure)
        self._updates[uri] = task

    def _log_failure(self, task: asyncio.Task[None]) -> None:
        """Tells the editor of a mistake of ours, which its log shows; the next version of the text is a new attempt."""
        failure = None if task.cancelled() else task.exception()
        if failure is not None:
            message = f"foretell lsp: {type(failure).__name__}: {failure}"
            self.window_log_message(types.LogMessageParams(types.MessageType.Error, message))

    async def _update(self, document: Document, delay: float) -> None:
        await asyncio.sleep(delay)
        await self._analyse(document)
        self._publish(document)
        if document.is_too_large or document.analysis.errors:
            return
        await asyncio.sleep(_CHECK_DELAY)
        answer = await self._checks.findings(document.text)
        if answer.get("missing") and answer["missing"] not in self._logged:
            self._logged.add(answer["missing"])
            self.window_log_message(types.LogMessageParams(types.MessageType.Warning, answer["missing"]))
        self._found[document.uri] = placed_findings(document, answer.get("findings", []))
        self._publish(document)

    async def _analyse(self, document: Document) -> None:
        if document.is_current or document.is_too_large:
            return
        analysis = await asyncio.get_running_loop().run_in_executor(self.analysing, analyse, document.text)
        document.analysis, document.analysed = analysis, document.version

    def _publish(self, document: Document) -> None:
        if self._documents.get(document.uri) is not document:
            return
        found: Sequence[PlacedFinding] = self._found.get(document.uri, [])
        shown = [*error_diagnostics(document), *finding_diagnostics(document, found)]
        params = types.PublishDiagnosticsParams(document.uri, shown, document.version)
        self.text_document_publish_diagnostics(params)


def serve(*, seconds: float, statement_seconds: float) -> None:
    """Serves an editor over standard input and output, until it ends."""
    logging.getLogger("pygls").setLevel(logging.CRITICAL)  # the editor shows what is wrong
    server = ForetellLanguageServer(seconds=seconds, statement_seconds=statement_seconds)
    _register_texts(server)
    _register_reading(server)
    _register_changes(server)
    # pygls closes its streams at the end; those of Python are still needed then.
    server.start_io(os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb"))


def _register_texts(server: ForetellLanguageServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def did_open(params: types.DidOpenTextDocumentParams) -> None:
        opened = params.text_document
        server.open(opened.uri, opened.version, opened.text)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def did_change(params: types.DidChangeTextDocumentParams) -> None:
        if params.content_changes:
            latest = params.content_changes[-1]  # whole texts
            server.change(params.text_document.uri, params.text_document.version, latest.text)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def did_close(params: types.DidCloseTextDocumentParams) -> None:
        server.close(params.text_document.uri)

    @server.feature(types.SHUTDOWN)
    async def shutdown(_: None) -> None:
        await server.end()


def _register_reading(server: ForetellLanguageServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=[".", ":", "$"]))
    async def complete(params: types.CompletionParams) -> list[types.CompletionItem]:
        document = server.document(params.text_document.uri)
        if document is None or document.is_too_large:
            return []
        if document.analysed is None:
            await server.analysed(document.uri)
        return completions(document, document.positions.offset(params.position))

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def show(params: types.HoverParams) -> types.Hover | None:
        document = await server.analysed(params.text_document.uri)
        return None if document is None else hover(document, document.positions.offset(params.position))

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def go_to_definition(params: types.DefinitionParams) -> list[types.Location]:
        document = await server.analysed(params.text_document.uri)
        return [] if document is None else definition(document, document.positions.offset(params.position))

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    async def find_references(params: types.ReferenceParams) -> list[types.Location]:
        document = await server.analysed(params.text_document.uri)
        if document is None:
            return []
        offset = document.positions.offset(params.position)
        return references(document, offset, with_definition=params.context.include_declaration)

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    async def highlight(params: types.DocumentHighlightParams) -> list[types.DocumentHighlight]:
        document = await server.analysed(params.text_document.uri)
        return [] if document is None else highlights(document, document.positions.offset(params.position))

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def outline(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        document = await server.analysed(params.text_document.uri)
        return [] if document is None else symbols(document)


def _register_changes(server: ForetellLanguageServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    async def prepare_rename(params: types.PrepareRenameParams) -> types.Range | None:
        document = await server.analysed(params.text_document.uri)
        return None if document is None else renamed_range(document, document.positions.offset(params.position))

    @server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    async def give_name(params: types.RenameParams) -> types.WorkspaceEdit | None:
        document = await server.analysed(params.text_document.uri)
        if document is None:
            return None
        try:
            return rename(document, document.positions.offset(params.position), params.new_name)
        except ForetellError as error:
            raise _refusal(error) from None

    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    async def format_document(params: types.DocumentFormattingParams) -> list[types.TextEdit]:
        document = server.document(params.text_document.uri)
        if document is None:
            return []
        return await asyncio.get_running_loop().run_in_executor(server.analysing, layout_edits, document)

    options = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)
    async def actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        document = await server.analysed(params.text_document.uri)
        return [] if document is None else code_actions(document, params.context.diagnostics)


def _refusal(error: ForetellError) -> JsonRpcException:
    """The error of a request, as the editor shows it."""
    message = f"{error.message}\nhint: {error.hint}" if error.hint else error.message
    return JsonRpcException(message, types.LSPErrorCodes.RequestFailed)
