"""Questions of the workbench's slots, in English and Russian. Called by the tool declarations."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from adapter_service.sdk import Slot, Text

DOCUMENT: Final = Slot(
    Text("Which document do you mean?", "Какой документ вы имеете в виду?"),
    resolver="document",
    label=Text("document", "документ"),
)
SECOND_DOCUMENT: Final = Slot(
    Text("Which document should it be compared with?", "С каким документом сравнить?"),
    resolver="document",
    label=Text("second document", "второй документ"),
)
DOCUMENT_TYPE: Final = Slot(
    Text("Which type of documents?", "Документы какого вида?"),
    resolver="document_type",
    label=Text("type of documents", "вид документов"),
)
NEW_TYPE: Final = Slot(
    Text("Which type should the new document have?", "Какого вида должен быть новый документ?"),
    resolver="document_type",
    label=Text("type", "вид"),
)
IDENTITY: Final = Slot(
    Text("What should it be called?", "Как он должен называться?"),
    resolver="name",
    label=Text("name", "имя"),
)
PAGE: Final = Slot(
    Text("Which documentation file?", "Какой файл документации?"),
    resolver="page",
    label=Text("documentation file", "файл документации"),
)
QUERY: Final = Slot(
    Text("What should be looked up in the documentation?", "Что найти в документации?"),
    resolver="words",
    label=Text("question", "вопрос"),
)
SEARCH_TEXT: Final = Slot(
    Text("Which words should be looked for?", "Какие слова искать?"), resolver="words", label=Text("words", "слова")
)
FIELD: Final = Slot(
    Text("Which field?", "Какое поле?"),
    resolver="field",
    label=Text("field", "поле"),
)
FIELD_TO_READ: Final = Slot(
    Text("Which field?", "Какое поле?"),
    resolver="present_field",
    label=Text("field", "поле"),
)
VALUE: Final = Slot(
    Text("Which value should it have?", "Какое значение оно должно иметь?"),
    resolver="value",
    label=Text("value", "значение"),
)
NEW_VALUE: Final = replace(VALUE, required=True)
REBASE: Final = Slot(
    Text(
        "Shall I make the same change to the file as it is now? (yes or no)",
        "Сделать то же изменение в нынешнем файле? (да или нет)",
    ),
    resolver="confirmation",
    label=Text("redo on the present file", "повторить на нынешнем файле"),
)
