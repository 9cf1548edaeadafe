{{- define "fansrec.name" -}}
{{ contains .Chart.Name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- define "fansrec.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "fansrec.labels" -}}
{{ include "fansrec.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "fansrec.image" -}}
{{ .Values.image.repository }}{{ with .Values.image.digest }}@{{ . }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "fansrec.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- /* Seconds until a pod is killed: the notice, the time for accepted requests, and a margin. */ -}}
{{- define "fansrec.gracePeriod" -}}
{{ addf .Values.settings.notice_s .Values.settings.drain_s 10 | ceil | int }}
{{- end }}

{{- /* A value as text: lists with commas, and numbers without an exponent. */ -}}
{{- define "fansrec.setting" -}}
{{- if kindIs "slice" . }}{{ join "," . }}
{{- else if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}
{{- else }}{{ . }}
{{- end }}
{{- end }}

{{- define "fansrec.check" -}}
{{- if not .Values.keys.secret }}
{{- fail "keys.secret is empty: create a key file with `fans keys add fans.keys NAME --admin`, a Secret with `kubectl create secret generic fans-keys --from-file=fans.keys`, and set keys.secret=fans-keys" }}
{{- end }}
{{- if not .Values.models.volume }}
{{- fail "models.volume is empty: name the volume that contains the models, such as models.volume.persistentVolumeClaim.claimName=models, or an emptyDir that models.init fills" }}
{{- end }}
{{- if and (hasKey .Values.models.volume "emptyDir") (not .Values.models.init.image) }}
{{- fail "models.volume is an emptyDir, which nothing fills: set models.init.image" }}
{{- end }}
{{- if and (eq (int .Values.settings.workers) 0) (not .Values.resources.limits.cpu) }}
{{- fail "settings.workers is 0 without a limit of CPU time, so that each pod would have a worker for each CPU of its node: set settings.workers to the CPUs of resources.requests, or set resources.limits.cpu" }}
{{- end }}
{{- if and .Values.writes.enabled (or .Values.autoscaling.enabled (ne (int .Values.replicas) 1)) }}
{{- fail "writes.enabled needs replicas=1 and autoscaling.enabled=false: a log of writes belongs to one service" }}
{{- end }}
{{- end }}
