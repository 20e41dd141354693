"""What `import signoff` offers; each is loaded when it is first asked for."""

from signoff.agents.loop import LoopLimits as LoopLimits
from signoff.agents.tools import STANDARD_TOOLS as STANDARD_TOOLS
from signoff.agents.tools import Tool as Tool
from signoff.agents.tools import ToolContext as ToolContext
from signoff.agents.tools import ToolError as ToolError
from signoff.agents.tools import plan_tools as plan_tools
from signoff.agents.tools import tool as tool
from signoff.storage import ActivePlan as ActivePlan
from signoff.storage import PlanText as PlanText
from signoff.storage import Vault as Vault
from signoff.storage import list_plan_files as list_plan_files
from signoff.storage import resolve_active_plan as resolve_active_plan
from signoff.wiring import run_agent as run_agent
from signoff.wiring import start_session as start_session

__all__: list[str]
__version__: str
