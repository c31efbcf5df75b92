#include "sweep/item_client.h"

RhNextItemStatus rh_item_client_next(RhItemClient *client, int32_t *item)
{
    RhCoordinatorMessage message = {.kind = RH_MESSAGE_ASK, .digest = client->digest};
    if (!client->asking) {
        client->asking = rh_coordinator_message_write(client->socket, &message);
        return client->asking ? RH_NEXT_LATER : RH_NEXT_NONE;
    }
    client->asking = false;
    if (!rh_coordinator_message_read(client->socket, &message) || message.kind != RH_MESSAGE_ITEM ||
        message.item < 0 || message.item >= client->items)
        return RH_NEXT_NONE;
    *item = message.item;
    return RH_NEXT_ITEM;
}

bool rh_item_client_tell(const RhItemClient *client, int32_t item, const RhItemOutcome *end)
{
    RhCoordinatorMessage message = {
        .kind = RH_MESSAGE_ENDED, .item = item, .status = end->status, .seconds = end->seconds};
    return rh_coordinator_message_write(client->socket, &message);
}
