-- Health of a GatewayKey for Argo CD: argocd-cm, resource.customizations.health.inference.gw_GatewayKey
-- A key that has expired or was revoked is as it was asked for.
if obj.status ~= nil then
  for _, condition in ipairs(obj.status.conditions or {}) do
    if condition.type == "Accepted" and condition.observedGeneration == obj.metadata.generation then
      if condition.status == "True" then return {status = "Healthy", message = condition.message} end
      if condition.status == "False" then return {status = "Degraded", message = condition.message} end
    end
  end
end
return {status = "Progressing", message = "Waiting for the operator."}
