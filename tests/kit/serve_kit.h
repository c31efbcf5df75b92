#pragma once
/* A model served on a platform, for tests of services. */
#include <stdio.h>

#include "strategies/serve/replica/replica_internode_flows.h"
#include "strategies/serve/service/service.h"
#include "tests/kit/testkit.h"

typedef struct {
    RhModel *model;
    RhPlatform *platform;
    RhServing serving;
    RhDeployment deployment;
} Setting;

Setting setting_of(const char *model, const char *platform, const char *deployment);

void close_setting(Setting *s);

RhServiceResult *serve(const Setting *s, const RhRequests *requests, const RhClient *client);

/* Seconds of a stretch that lie in the window. */
double within_s(const RhSteadyWindow *w, double from_s, double until_s);

RhRequests *drawn(int32_t count, double rate, int32_t input, int32_t output);

const RhRequestRecord *at(const RhServiceResult *r, guint i);

/* Seconds of what a server's ranks send each other in an iteration that takes so long, on links of their own. */
double wire_s(const Setting *s, double iteration_s, int32_t tokens);
