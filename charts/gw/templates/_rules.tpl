{{/* Made by `make generate`; change the code instead. */}}
{{- define "gw.rules.watched" }}
- apiGroups:
    - inference.gw
  resources:
    - gatewayconfigs
  verbs:
    - list
    - watch
- apiGroups:
    - inference.gw
  resources:
    - gatewayconfigs/status
  verbs:
    - patch
- apiGroups:
    - inference.gw
  resources:
    - gatewayconfigs/finalizers
  verbs:
    - update
- apiGroups:
    - inference.gw
  resources:
    - gatewaykeys
  verbs:
    - list
    - watch
- apiGroups:
    - inference.gw
  resources:
    - gatewaykeys/status
  verbs:
    - patch
- apiGroups:
    - inference.gw
  resources:
    - tenantpolicies
  verbs:
    - list
    - watch
- apiGroups:
    - inference.gw
  resources:
    - tenantpolicies/status
  verbs:
    - patch
- apiGroups:
    - apps
  resources:
    - deployments
  verbs: &a1
    - get
    - list
    - watch
    - create
    - patch
- apiGroups:
    - ""
  resources:
    - services
  verbs: &a2
    - get
    - list
    - watch
    - create
    - patch
    - delete
- apiGroups:
    - discovery.k8s.io
  resources:
    - endpointslices
  verbs:
    - list
    - watch
- apiGroups:
    - ""
  resources:
    - serviceaccounts
  verbs: *a1
- apiGroups:
    - ""
  resources:
    - configmaps
  verbs:
    - get
    - list
    - watch
    - create
    - patch
    - update
- apiGroups:
    - policy
  resources:
    - poddisruptionbudgets
  verbs: *a2
- apiGroups:
    - networking.k8s.io
  resources:
    - networkpolicies
  verbs: *a2
- apiGroups:
    - autoscaling
  resources:
    - horizontalpodautoscalers
  verbs: *a2
- apiGroups:
    - ""
  resources:
    - pods
  verbs:
    - list
    - watch
    - patch
- apiGroups:
    - apps
  resources:
    - replicasets
  verbs:
    - get
- apiGroups:
    - events.k8s.io
  resources:
    - events
  verbs:
    - create
{{- end }}

{{- define "gw.rules.http-routes" }}
- apiGroups:
    - gateway.networking.k8s.io
  resources:
    - httproutes
  verbs:
    - get
    - list
    - watch
    - create
    - patch
    - delete
{{- end }}

{{- define "gw.rules.key-secrets" }}
- apiGroups:
    - ""
  resources:
    - secrets
  verbs:
    - create
    - update
{{- end }}

{{- define "gw.rules.inference-pools" }}
- apiGroups:
    - inference.networking.k8s.io
  resources:
    - inferencepools
  verbs:
    - list
    - watch
- apiGroups:
    - inference.networking.k8s.io
  resources:
    - inferencepools/status
  verbs:
    - update
{{- end }}

{{- define "gw.rules.own" }}
- apiGroups:
    - coordination.k8s.io
  resources:
    - leases
  verbs:
    - create
- apiGroups:
    - coordination.k8s.io
  resources:
    - leases
  verbs:
    - get
    - update
  resourceNames:
    - gw-operator
- apiGroups:
    - ""
  resources:
    - secrets
  verbs:
    - create
- apiGroups:
    - ""
  resources:
    - secrets
  verbs:
    - get
    - update
  resourceNames:
    - gw-operator-signing
{{- end }}

{{- define "gw.rules.types" }}
- apiGroups:
    - apiextensions.k8s.io
  resources:
    - customresourcedefinitions
  verbs:
    - get
  resourceNames:
    - gatewayconfigs.inference.gw
    - gatewaykeys.inference.gw
    - tenantpolicies.inference.gw
{{- end }}

{{- define "gw.rules.webhook-own" }}
- apiGroups:
    - ""
  resources:
    - secrets
  verbs:
    - get
    - update
  resourceNames:
    - gw-operator-webhook
{{- end }}

{{- define "gw.rules.webhook-cluster" }}
- apiGroups:
    - admissionregistration.k8s.io
  resources:
    - validatingwebhookconfigurations
  verbs:
    - get
    - patch
  resourceNames:
    - {{ include "gw.clusterName" . }}
{{- end }}
