"""How a set stores its entities: an export states it, so that only a set that reads them as they were imports them."""

from __future__ import annotations

from typing import Any, NamedTuple

from tablepatterns.entity_set.internals import adapter_or_none, mappings_of
from tablepatterns.errors import BadInput

from .manifest import Manifest


class SetForm(NamedTuple):
    """How a set stores its entities.

    :param key: the templates of PartitionKey and RowKey
    :param encrypted: the names of the encrypted fields
    :param classes: those of the model; empty without a model
    :param type_property: the property that names the class of an entity; empty for one class
    :param version: that of the model
    """

    key: tuple[str, str]
    encrypted: tuple[str, ...]
    classes: tuple[str, ...] = ()
    type_property: str = ""
    version: int = 1

    @classmethod
    def of(cls, entity_set: Any) -> SetForm:
        key, adapter = entity_set.key, adapter_or_none(entity_set)
        form = cls((key.partition_template, key.row_template), tuple(sorted(mappings_of(entity_set).secret)))
        if adapter is None:
            return form
        types = adapter.types
        names = sorted(entity_class.__name__ for entity_class in types.classes)
        return form._replace(classes=tuple(names), type_property=types.type_property, version=types.model.version)

    def difference(self, other: SetForm, *, as_stored: bool) -> str | None:
        """Return why a set would read the entities as others, or store in plain text what was encrypted; or None.

        :param as_stored: whether encrypted values are exported as they are stored
        """
        if other.key != self.key:
            return f"its entities have the key {'/'.join(self.key)}, and those of the set {'/'.join(other.key)}"
        if other.encrypted != self.encrypted if as_stored else not {*self.encrypted} <= {*other.encrypted}:
            return f"where it was exported {list(self.encrypted)} are encrypted, and in the set {list(other.encrypted)}"
        if not self.classes or not other.classes:
            return None
        if self.type_property not in ("", other.type_property):
            return f"{self.type_property} names the class of its entities, and {other.type_property!r} in the set"
        if self.type_property and (missing_classes := {*self.classes} - {*other.classes}):
            return f"it has entities of the class {min(missing_classes)}, which the model of the set lacks"
        if other.version < self.version:
            return f"it was written with version {self.version} of the model, and the set has version {other.version}"
        return None


def check_form(subject: str, manifest: Manifest, form: SetForm | None) -> None:
    """Reject a set that would not read the entities of an export as they were; rows of a table have no form."""
    if form is None or (manifest.form is None and manifest.content == "rows"):
        return
    if manifest.form is None:
        reason = "it does not state how the set stored its entities, as exports of earlier versions do not"
        raise BadInput(subject, manifest.table, reason, "export the set again")
    rule = SetForm(*manifest.form).difference(form, as_stored=manifest.content == "rows")
    if rule is not None:
        raise BadInput(subject, manifest.table, rule, "use a set that is declared as the exported one")
