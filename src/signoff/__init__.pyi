"""What `import signoff` offers; each is loaded when it is first asked for."""

from signoff.agents.loop.limits import LoopLimits as LoopLimits
from signoff.agents.plantools import plan_tools as plan_tools
from signoff.agents.tools.context import ToolContext as ToolContext
from signoff.agents.tools.context import ToolError as ToolError
from signoff.agents.tools.definition import Tool as Tool
from signoff.agents.tools.definition import tool as tool
from signoff.agents.tools.standard import STANDARD_TOOLS as STANDARD_TOOLS
from signoff.storage.active import ActivePlan as ActivePlan
from signoff.storage.active import list_plan_files as list_plan_files
from signoff.storage.active import resolve_active_plan as resolve_active_plan
from signoff.storage.vault import PlanText as PlanText
from signoff.storage.vault import Vault as Vault
from signoff.wiring import PlanHolder as PlanHolder
from signoff.wiring import arun as arun
from signoff.wiring import run_agent as run_agent
from signoff.wiring import start_session as start_session

__all__: tuple[str, ...]
__version__: str

def load_structs() -> None: ...
