"""Random faults for a `World`, for a few hundred seconds, chosen by a seed.

The faults omit cases that `gateway.cluster.membership` excludes: no process is disconnected for
longer than two minutes, or while Redis loses its record of this process.
"""

from random import Random

from tests.cluster.world import World

EVENTS = (
    "cut", "cut", "cut all", "heal", "heal", "kill", "leave", "join", "suspend", "flush", "save",
    "restore", "hang", "resume", "lose answers", "work", "rest", "refuse",
)  # fmt: skip
PAUSES = (0.05, 0.3, 1, 2, 5, 10, 20)
MOST_ISOLATED_SECONDS = 90


async def storm(world: World, seed: int, seconds: float = 400) -> None:
    """Run the processes of `world` through random faults for about 400 seconds."""
    random = Random(seed)  # noqa: S311 - no secret
    await world.start(random.randint(1, 4))
    lost_at = -10.0
    while world.now < seconds:
        await world.run(random.choice(PAUSES))
        event = random.choice(EVENTS)
        if any(each.isolated_seconds() > MOST_ISOLATED_SECONDS for each in world.living()):
            event = "heal"
        is_whole = world.hung is None and not any(each.is_ill for each in world.living())
        if event in ("flush", "restore"):
            if not is_whole:
                continue
            lost_at = world.now
        if event in ("cut", "cut all", "lose answers", "hang") and world.now < lost_at + 3:
            continue
        await happen(world, event, random)


async def happen(world: World, event: str, random: Random) -> None:
    living = world.living()
    one = random.choice(living)
    match event:
        case "cut":
            one.link.is_cut = True
        case "cut all":
            for each in living:
                each.link.is_cut = True
        case "lose answers":
            one.link.loses_answers = True
        case "suspend":
            one.is_suspended = True
        case "heal":
            for each in living:
                each.heal()
            await world.resume()
        case "kill" if len(living) > 1:
            one.is_alive = False
        case "leave" if len(living) > 1:
            await one.membership.leave()
            one.is_alive = False
        case "join" if len(living) < 5 and world.hung is None:
            await world.start(1)
        case "flush":
            await world.redis.flushall()
        case "save":
            await world.save()
        case "restore" if world.saved:
            await world.restore()
        case "hang" if world.hung is None:
            world.hang()
        case "resume":
            await world.resume()
        case "work":
            for each in living:
                each.is_greedy = True
        case "rest":
            one.is_greedy = False
        case "refuse":
            one.refused("a")
        case _:
            pass
