// Shows push messages of the laboratory and opens the page that a notification belongs to. Nothing is fetched from
// elsewhere, nothing is stored.
"use strict";

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

// read returns the message: {notification: {title, body}, data: {…}} as FCM sends it, or {title, body, data}.
function read(event) {
  let message = {};
  try {
    message = event.data ? event.data.json() : {};
  } catch {
    message = {}; // not JSON: the neutral words below are shown
  }
  const shown = message.notification || message;
  return {
    title: typeof shown.title === "string" && shown.title ? shown.title : "New notification",
    body: typeof shown.body === "string" ? shown.body : "",
    data: message.data && typeof message.data === "object" ? message.data : {},
  };
}

self.addEventListener("push", (event) => {
  const { title, body, data } = read(event);
  event.waitUntil(
    self.registration.showNotification(title, {
      body,
      data,
      tag: data.notification_id ? "notification-" + data.notification_id : undefined,
      renotify: Boolean(data.notification_id),
      requireInteraction: data.notification_type_id === "2", // a critical report stays until someone acts
    }),
  );
});

// home returns the page of a notification that names none: for a critical result the callout board, otherwise the
// inbox. Organizations have no access to the board; data.for is the kind of addressee of the message's topic.
function home(data) {
  return data.notification_type_id === "2" && data.for !== "org" ? "/callout/" : "/notifications/";
}

// target is the page of a notification, on this origin only.
function target(data) {
  const page = typeof data.click_action === "string" ? data.click_action : home(data);
  let url = new URL(page, self.location.origin);
  if (url.origin !== self.location.origin) {
    url = new URL(home(data), self.location.origin);
  }
  if (data.notification_id) {
    url.searchParams.set("notification_id", data.notification_id);
  }
  return url;
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const url = target(event.notification.data || {}).href;
  event.waitUntil(
    self.clients.matchAll({ type: "window", includeUncontrolled: true }).then((pages) => {
      const open = pages.find((page) => page.url === url);
      return open ? open.focus() : self.clients.openWindow(url);
    }),
  );
});
