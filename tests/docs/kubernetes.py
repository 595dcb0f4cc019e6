"""JSON schema of the fields in the documentation's Kubernetes manifest.

Rules: only fields in use are here, and other fields are errors, because `kubectl --validate=false`
ignores a misspelt field. Sources are the API types of apps/v1, batch/v1, core/v1 and
networking.k8s.io/v1.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from jsonschema import Draft202012Validator

Schema = Mapping[str, Any]

TEXT: Schema = {"type": "string", "minLength": 1}
NAME: Schema = {"type": "string", "pattern": r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"}
PORT_NAME: Schema = {"type": "string", "pattern": "^[a-z0-9-]{1,15}$"}
PORT: Schema = {"type": "integer", "minimum": 1, "maximum": 65535}
COUNT: Schema = {"type": "integer", "minimum": 0}
FLAG: Schema = {"type": "boolean"}


def table(needed: Mapping[str, Schema], **optional: Schema) -> Schema:
    properties = {**needed, **optional}
    return {
        "type": "object",
        "properties": properties,
        "required": list(needed),
        "additionalProperties": False,
    }


def list_of(items: Schema) -> Schema:
    return {"type": "array", "items": items, "minItems": 1}


def one_of(*values: object) -> Schema:
    return {"enum": list(values)}


LABELS: Schema = {"type": "object", "additionalProperties": NAME, "minProperties": 1}
QUANTITY: Schema = {"type": "string", "pattern": "^[0-9]+(m|Mi|Gi)?$"}
RESOURCES: Schema = table({}, cpu=QUANTITY, memory=QUANTITY)
METADATA: Schema = table({"name": NAME})
HTTP_GET: Schema = table({"path": {"type": "string", "pattern": "^/"}, "port": PORT_NAME})
PROBE: Schema = table(
    {"httpGet": HTTP_GET}, periodSeconds=COUNT, timeoutSeconds=COUNT, failureThreshold=COUNT
)
CONFINED: Schema = table(
    {},
    allowPrivilegeEscalation=FLAG,
    readOnlyRootFilesystem=FLAG,
    capabilities=table({"drop": list_of(TEXT)}),
)
CONTAINER: Schema = table(
    {"name": NAME, "image": TEXT},
    args=list_of(TEXT),
    command=list_of(TEXT),
    envFrom=list_of(table({"secretRef": table({"name": NAME})})),
    env=list_of(table({"name": TEXT, "value": {"type": "string"}})),
    ports=list_of(table({"name": PORT_NAME, "containerPort": PORT})),
    startupProbe=PROBE,
    livenessProbe=PROBE,
    readinessProbe=PROBE,
    lifecycle=table({"preStop": table({"exec": table({"command": list_of(TEXT)})})}),
    resources=table({"requests": RESOURCES, "limits": RESOURCES}),
    securityContext=CONFINED,
    volumeMounts=list_of(table({"name": NAME, "mountPath": TEXT}, readOnly=FLAG)),
)
VOLUME: Schema = table(
    {"name": NAME},
    secret=table({"secretName": NAME}),
    emptyDir=table({}, medium=one_of("Memory")),
)
POD: Schema = table(
    {"containers": list_of(CONTAINER)},
    restartPolicy=one_of("Never", "OnFailure"),
    terminationGracePeriodSeconds=COUNT,
    securityContext=table({}, runAsNonRoot=FLAG, runAsUser=COUNT, fsGroup=COUNT),
    automountServiceAccountToken=FLAG,
    initContainers=list_of(CONTAINER),
    volumes=list_of(VOLUME),
)
KINDS: Mapping[str, Schema] = {
    "Job": table(
        {
            "apiVersion": one_of("batch/v1"),
            "kind": TEXT,
            "metadata": METADATA,
            "spec": table(
                {"template": table({"spec": POD})},
                backoffLimit=COUNT,
                ttlSecondsAfterFinished=COUNT,
            ),
        }
    ),
    "Deployment": table(
        {
            "apiVersion": one_of("apps/v1"),
            "kind": TEXT,
            "metadata": METADATA,
            "spec": table(
                {
                    "selector": table({"matchLabels": LABELS}),
                    "template": table({"metadata": table({"labels": LABELS}), "spec": POD}),
                },
                replicas=COUNT,
                strategy=table(
                    {"type": one_of("RollingUpdate")},
                    rollingUpdate=table({}, maxSurge=COUNT, maxUnavailable=COUNT),
                ),
            ),
        }
    ),
    "NetworkPolicy": table(
        {
            "apiVersion": one_of("networking.k8s.io/v1"),
            "kind": TEXT,
            "metadata": METADATA,
            "spec": table(
                {
                    "podSelector": table({"matchLabels": LABELS}),
                    "policyTypes": list_of(one_of("Ingress")),
                    "ingress": list_of(
                        table(
                            {
                                "from": list_of(
                                    table({"namespaceSelector": table({"matchLabels": LABELS})})
                                ),
                                "ports": list_of(table({"port": PORT_NAME})),
                            }
                        )
                    ),
                }
            ),
        }
    ),
    "Service": table(
        {
            "apiVersion": one_of("v1"),
            "kind": TEXT,
            "metadata": METADATA,
            "spec": table(
                {
                    "selector": LABELS,
                    "ports": list_of(
                        table({"name": PORT_NAME, "port": PORT, "targetPort": PORT_NAME})
                    ),
                }
            ),
        }
    ),
}


def manifest_problems(manifests: Sequence[Any]) -> list[str]:
    """Return a line for each error in the objects of a manifest."""
    found = []
    for each in manifests:
        kind = each.get("kind")
        if kind not in KINDS:
            found.append(f"{kind}: unknown kind")
            continue
        for error in Draft202012Validator(KINDS[kind]).iter_errors(each):
            found.append(f"{kind}{error.json_path[1:]}: {error.message}")
    return found
