-- Health of a GatewayConfig for Argo CD: argocd-cm, resource.customizations.health.inference.gw_GatewayConfig
local hs = {status = "Progressing", message = "Waiting for the operator."}
if obj.spec ~= nil and obj.spec.paused == true then
  return {status = "Suspended", message = "spec.paused is true."}
end
if obj.status == nil or obj.status.observedGeneration ~= obj.metadata.generation then return hs end
local by = {}
for _, condition in ipairs(obj.status.conditions or {}) do by[condition.type] = condition end
local function is(type, status)
  return by[type] ~= nil and by[type].status == status and by[type] or nil
end
local bad = is("Accepted", "False") or is("ResolvedRefs", "False") or is("Exposed", "False")
if bad == nil and by.Programmed ~= nil and by.Programmed.reason == "Rejected" then bad = by.Programmed end
-- New pods replace the old ones by themselves, so that their reason is not one.
if bad == nil and is("Degraded", "True") and by.Degraded.reason ~= "WaitsForNewPods" then bad = by.Degraded end
if bad ~= nil then return {status = "Degraded", message = bad.message} end
if by.Ready ~= nil then
  hs.message = by.Ready.message
  if by.Ready.status == "True" then hs.status = "Healthy" end
end
return hs
